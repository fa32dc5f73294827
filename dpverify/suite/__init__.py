"""Many subjects, one family-wise error: found in audit files, run one by one in children, put together."""
