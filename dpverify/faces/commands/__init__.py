"""The commands besides `audit`, `certify` and `report`, one file each: options in, exit code out."""
