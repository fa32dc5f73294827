"""What the data are: trajectories of users, their exact counts, their neighbours."""
