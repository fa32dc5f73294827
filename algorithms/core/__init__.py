"""What the learners share: environments, users, protocols, sources of counts, and how a whole run is audited."""
