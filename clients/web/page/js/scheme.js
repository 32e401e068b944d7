// Sets the colour scheme before anything is painted: the one chosen here, else the system's. A script of its own, not a module, as
// modules run after the first paint.
{
  let chosen = null;
  try {
    chosen = localStorage.getItem("hipq-scheme");
  } catch {
    // Storage may be forbidden: then the system's scheme it is.
  }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.scheme = chosen;
}
