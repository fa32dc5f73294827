"""Which event is counted: chosen on the selection trials by the bound that it is predicted to certify."""
