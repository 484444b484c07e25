"""Go-Explore: remember promising states, first return to them, then explore."""
