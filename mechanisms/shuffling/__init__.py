"""Messages of many users, stripped of their names: one count."""
