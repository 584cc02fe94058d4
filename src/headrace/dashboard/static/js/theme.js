// Sets the theme before the first paint, which is why it is no module: modules run too late for that.
"use strict";
(() => {
  const KEY = "headrace.theme";
  const chosen = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // storage is switched off: the system's choice counts
    }
  };
  const system = matchMedia("(prefers-color-scheme: dark)");
  const current = () => chosen() ?? (system.matches ? "dark" : "light");
  const apply = () => document.documentElement.setAttribute("data-theme", current());
  apply();
  system.addEventListener("change", apply);
  window.headraceTheme = {
    current,
    toggle() {
      const next = current() === "dark" ? "light" : "dark";
      try {
        localStorage.setItem(KEY, next);
      } catch {
        // lasts for this page only
      }
      document.documentElement.setAttribute("data-theme", next);
      return next;
    },
  };
})();
