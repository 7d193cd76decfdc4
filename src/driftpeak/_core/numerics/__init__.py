"""What the arithmetic needs: double precision, threads, conditionals under vmap."""
