// The review pages' own script: the keyboard, local times, and the token out of the address.
// Everything it does can be done without it. It builds no markup out of texts.
"use strict";

(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const one = (selector, root = document) => root.querySelector(selector);
  const wide = window.matchMedia("(min-width: 1180px)");
  let current = ""; // id of the selected entry: survives that the rows are loaded anew
  let place = 0; // and where it was, for when it leaves the queue
  let peeking = 0;

  // ---- Rows of the queue, and of what was found

  const rows = () => all("tr[data-entry]");
  const row = () => rows().find((item) => item.dataset.entry === current);

  function select(item, moves) {
    rows().forEach((other) => {
      other.classList.toggle("is-current", other === item);
      other.toggleAttribute("aria-current", other === item);
    });
    if (!item) return;
    const other = current !== item.dataset.entry;
    current = item.dataset.entry;
    place = rows().indexOf(item);
    if (moves) {
      one("a.ask", item).focus({ preventScroll: true });
      item.scrollIntoView({ block: "nearest" });
    }
    if (other) peek(item);
  }

  function peek(item) {
    const pane = one("#peek");
    if (!pane || !wide.matches || !window.htmx || !item.dataset.peek) return;
    window.clearTimeout(peeking);
    peeking = window.setTimeout(() => {
      window.htmx.ajax("GET", item.dataset.peek, { target: "#peek", swap: "innerHTML" });
    }, 90);
  }

  function move(by) {
    const items = rows();
    if (!items.length) return;
    const at = items.indexOf(row());
    const next = at < 0 ? Math.min(place, items.length - 1) : Math.min(Math.max(at + by, 0), items.length - 1);
    select(items[next], true);
  }

  function restore() {
    const items = rows();
    if (!items.length) return;
    const kept = row();
    const hadFocus = document.activeElement === document.body && current !== "";
    if (kept) select(kept, hadFocus);
    else if (current) select(items[Math.min(place, items.length - 1)], false);
    // The list was empty when the page was opened.
    else if (one("#rows")) select(items[0], document.activeElement === document.body);
  }

  // ---- Decisions: the pane beside the queue first, for that is what was read

  function scope() {
    const pane = one("#peek [data-entry-shown]");
    if (pane && wide.matches && pane.dataset.entryShown === current) return pane;
    return row() || one("main");
  }

  function act(word) {
    const root = scope();
    const target = root && one(`[data-act="${word}"]`, root);
    if (target && !target.disabled) target.click();
  }

  function follow(name) {
    const link = one(`a[data-go="${name}"]`);
    if (link) link.click();
  }

  function open() {
    const item = row();
    if (item) one("a.ask", item).click();
  }

  const help = () => one("#help");

  const KEYS = {
    j: () => move(1),
    ArrowDown: () => rows().length && move(1),
    k: () => move(-1),
    ArrowUp: () => rows().length && move(-1),
    Enter: open,
    o: open,
    a: () => act("approve"),
    e: () => act("edit"),
    r: () => act("reject"),
    x: () => act("bar"),
    n: () => { const note = one("#note"); if (note) note.focus(); },
    u: () => follow("queue"),
    "/": () => { const words = one("#words"); if (words) words.focus(); else follow("search"); },
    "?": () => { const dialog = help(); if (dialog) dialog.showModal(); },
  };

  const typing = (target) => target.closest("input, textarea, select, [contenteditable]");

  document.addEventListener("keydown", (event) => {
    const field = typing(event.target);
    if (field && event.key === "Enter" && (event.ctrlKey || event.metaKey) && field.form && "submits" in field.dataset) {
      event.preventDefault();
      field.form.requestSubmit(one("[data-default]", field.form));
      return;
    }
    if (field && event.key === "Escape") { field.blur(); return; }
    if (field || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (one("dialog[open]")) return;
    const own = event.target.closest("a, button, summary");
    if (event.key === "Enter" && own) return; // the browser does that
    if (event.repeat && !["j", "k", "ArrowDown", "ArrowUp"].includes(event.key)) return;
    if (event.key.startsWith("Arrow") && !rows().length) return;
    const doing = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : null;
    if (doing) {
      event.preventDefault();
      doing();
    }
  });

  document.addEventListener("click", (event) => {
    const item = event.target.closest("tr[data-entry]");
    if (item && !event.target.closest("a, button, input")) select(item, true);
    if (event.target.closest("[data-help]")) { event.preventDefault(); help().showModal(); }
    if (event.target.closest("[data-close]")) event.target.closest("dialog").close();
  });

  document.addEventListener("focusin", (event) => {
    const item = event.target.closest("tr[data-entry]");
    if (item) select(item, false);
  });

  // A form is sent once, however long the key is held.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "1";
    window.setTimeout(() => delete form.dataset.sent, 3000);
  });
  window.addEventListener("pageshow", () => all("form[data-sent]").forEach((form) => delete form.dataset.sent));

  // ---- Small things

  function localise(root) {
    const lang = document.documentElement.lang === "zh-Hans" ? "zh-CN" : "en-GB";
    const shape = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "short" });
    all("time[data-local]", root).forEach((item) => {
      item.title = item.title || item.textContent;
      item.textContent = shape.format(new Date(item.dateTime));
    });
  }

  // A slider and the field beside it show one number.
  document.addEventListener("input", (event) => {
    const name = event.target.dataset.twin;
    if (!name) return;
    all(`[data-twin="${name}"]`).forEach((item) => { if (item !== event.target) item.value = event.target.value; });
  });

  document.addEventListener("change", (event) => {
    if (event.target.matches("select[data-goes]")) event.target.form.requestSubmit();
  });

  function token() {
    const field = one("#token");
    const found = new URLSearchParams(window.location.hash.slice(1)).get("token");
    if (!field || !found) return;
    field.value = found;
    window.history.replaceState(null, "", window.location.pathname + window.location.search);
    one("#enter").focus();
  }

  document.addEventListener("htmx:afterSwap", (event) => {
    localise(event.detail.target.isConnected ? event.detail.target : document);
    restore();
  });
  window.addEventListener("hashchange", token);
  localise(document);
  token();
  all(".js").forEach((item) => { item.hidden = false; });
  const eager = one("#token, #answer, #words");
  if (eager && document.activeElement === document.body && !rows().length) eager.focus();
  const first = rows()[0];
  if (first && one("#rows")) select(first, document.activeElement === document.body);
})();
