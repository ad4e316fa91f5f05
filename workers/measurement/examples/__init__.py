"""Golden messages of every kind and outcome; both sides of the wire test against them."""
