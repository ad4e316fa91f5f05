"""What measuring costs, as ratios against a peer in the same interleaved run."""
