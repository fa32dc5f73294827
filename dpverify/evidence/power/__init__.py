"""What a run could have caught, under a stated model of the violation."""
