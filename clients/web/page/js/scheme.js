// Sets the colour scheme before the first paint: the one chosen here, else the system's. A separate
// script, not a module, because modules run after the first paint.
{
  let chosen = null;
  try {
    chosen = localStorage.getItem("hipq-scheme");
  } catch {
    // Storage may be forbidden: then the system's scheme applies.
  }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.scheme = chosen;
}
