"""The field report: one TOML file a row on a library, the calls that are tried, and the last results."""
