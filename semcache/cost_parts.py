"""What the parts that watch over money are built from. Builders only; `app` puts them in."""
