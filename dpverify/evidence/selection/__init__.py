"""Which events are counted: chosen on the selection trials by the bound that they are predicted to certify."""
