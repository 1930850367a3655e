"""The stories, one file each: plain `async def f(world, …)`, reaching the world only through its ports."""
