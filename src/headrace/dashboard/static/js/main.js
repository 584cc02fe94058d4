// The way in: reads the address, opens a page, keeps it up to date.
//
//   #/  #/jobs/ID/TAB/VERTEX  #/executors/ID/TAB/LOG  #/dispatcher/TAB/LOG  #/submit
//
// A page is {title, load(), view()}: load asks the server, view makes nodes of what load found.

import { get, token } from "./api.js";
import { h, render } from "./dom.js";
import { tell, untell } from "./notices.js";
import { dispatcher } from "./pages/dispatcher.js";
import { executors } from "./pages/executors.js";
import { job } from "./pages/job.js";
import { overview } from "./pages/overview.js";
import { signIn } from "./pages/sign_in.js";
import { submit } from "./pages/submit.js";
import { empty, panel, problem } from "./parts.js";
import { may } from "./roles.js";

const PAGES = { "": overview, jobs: job, executors, dispatcher, submit };
const LINKS = [
  ["", "Jobs"],
  ["executors", "Executors"],
  ["dispatcher", "Dispatcher"],
  ["submit", "Submit"],
];
const PAUSE_MS = { first: 1000, last: 10_000 }; // between tries while the server is gone

const [top, main] = ["top", "main"].map((id) => document.getElementById(id));
let config = null;
let visit = null; // the page that is open

class Visit {
  constructor(parts) {
    this.parts = parts;
    this.ending = new AbortController();
    this.failures = 0;
    const make = PAGES[parts[0] ?? ""] ?? nowhere;
    this.page = make(parts.slice(1), {
      config,
      signal: this.ending.signal,
      redraw: () => this.draw(),
      refresh: () => this.refresh(),
      go,
    });
  }
  get open() {
    return !this.ending.signal.aborted;
  }
  async run() {
    while (this.open) {
      await this.refresh();
      if (!this.open) return;
      await this.pause();
    }
  }
  async refresh() {
    try {
      await this.page.load?.();
      if (!this.open) return;
      this.loaded = true;
      this.failures = 0;
      lost(null);
      this.draw();
    } catch (error) {
      if (this.open) this.failed(error);
    }
  }
  failed(error) {
    if (error.status === 401) return askToSignIn();
    if (error.lost || error.status === 502 || error.status === 503) {
      this.failures += 1;
      return lost(error.lost ? error.message : `The server is not ready. ${error.message}`);
    }
    if (error.status === undefined) console.error(error); // ours
    lost(null);
    this.loaded = false;
    render(main, error.status === 404 ? gone(error) : panel("This page cannot be shown", problem(error)));
  }
  draw() {
    if (!this.open || !this.loaded) return;
    document.title = `${this.page.title()} – headrace`;
    render(main, this.page.view());
  }
  pause() {
    const normal = Math.max(200, config["refresh-interval"] ?? 3000);
    const waiting = Math.min(PAUSE_MS.first * 1.6 ** (this.failures - 1), PAUSE_MS.last);
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.failures ? waiting : normal);
      this.wake = () => (clearTimeout(timer), resolve());
      this.ending.signal.addEventListener("abort", this.wake, { once: true });
    }).then(() => whenVisible());
  }
  end() {
    this.ending.abort();
  }
}

/** A tab in the background asks nothing. */
function whenVisible() {
  if (!document.hidden) return undefined;
  return new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
}

const gone = (error) =>
  h(
    "section.panel",
    { key: "gone" },
    h("h1", {}, "Not here"),
    problem(error),
    h(
      "p",
      {},
      "It may have ended and left the history, or the address is mistyped. ",
      h("a", { href: "#/" }, "All jobs"),
    ),
  );
const nowhere = () => ({
  title: () => "Not found",
  view: () => empty("There is no such page. ", h("a", { href: "#/" }, "All jobs")),
});

function lost(message) {
  main.classList.toggle("stale", Boolean(message));
  if (!message) return untell("lost");
  const text = `${message} Trying again; what you see is what was known last.`;
  return tell("lost", { text, button: ["Try now", () => visit?.wake?.()] });
}

function askToSignIn() {
  visit?.end();
  lost(null);
  drawTop([]);
  document.title = "Sign in – headrace";
  render(main, signIn({ done: start }));
  main.querySelector("input")?.focus();
}

const address = () => location.hash.replace(/^#\/?/, "").split("/").map(decoded);
const decoded = (part) => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a lone percent sign: no such page, then
  }
};
const go = (...parts) => (location.hash = `#/${parts.map(encodeURIComponent).join("/")}`);

function route() {
  if (!location.hash.startsWith("#/") && location.hash !== "") return; // a place on this page: the skip link
  const parts = address();
  const before = visit?.parts;
  visit?.end();
  try {
    visit = new Visit(parts);
  } catch (error) {
    console.error(error);
    return;
  }
  drawTop(parts);
  if (before && before[0] !== parts[0]) {
    render(main, empty("Loading …"));
    scrollTo(0, 0);
  }
  visit.run();
}

function drawTop(parts) {
  const here = parts[0] === "jobs" ? "" : (parts[0] ?? "");
  const submits = config?.features?.["web-submit"] && may(config, "submit");
  const links = LINKS.filter(([name]) => name !== "submit" || submits);
  const dark = window.headraceTheme.current() === "dark";
  render(
    top,
    h(
      "div.top-line",
      {},
      h("a.brand", { href: "#/" }, h("img", { src: "favicon.svg", alt: "" }), "headrace"),
      h(
        "nav.nav",
        { "aria-label": "Pages" },
        config &&
          links.map(([name, label]) =>
            h("a", { key: name, href: `#/${name}`, "aria-current": name === here ? "page" : null }, label),
          ),
      ),
      h(
        "div.top-end",
        {},
        config &&
          h(
            "span",
            { title: `speaks Flink ${config["flink-version"]}'s REST` },
            config["headrace-version"] ?? `Flink ${config["flink-version"]}`,
          ),
        h(
          "button.small",
          { type: "button", id: "theme", onclick: () => (window.headraceTheme.toggle(), drawTop(parts)) },
          dark ? "Light" : "Dark",
        ),
        token.get() &&
          config &&
          h("button.small", { type: "button", id: "sign-out", onclick: signOut }, "Sign out"),
      ),
    ),
  );
}

function signOut() {
  token.clear();
  config = null;
  start();
}

async function start() {
  visit?.end();
  visit = null;
  for (let pause = PAUSE_MS.first; ; pause = Math.min(pause * 1.6, PAUSE_MS.last)) {
    try {
      config = await get("config");
      break;
    } catch (error) {
      if (error.status === 401) return askToSignIn();
      drawTop([]);
      lost(error.message);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
  lost(null);
  route();
}

addEventListener("hashchange", () => config && route());
start();
