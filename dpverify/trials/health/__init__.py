"""Whether trials are what they are taken for: streams, copies, data that stay as they are, independence."""
