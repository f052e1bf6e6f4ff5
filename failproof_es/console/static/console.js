"use strict";
// Pages show UTC; the reader's own time is on hover. Pages are whole without this.
(() => {
  const own = new Intl.DateTimeFormat(undefined, {
    dateStyle: "medium", timeStyle: "long", hourCycle: "h23",
  });
  for (const time of document.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    if (!Number.isNaN(moment.getTime())) time.title = own.format(moment);
  }

  // Live numbers of a run that goes on: read from the log, closed while nobody looks.
  const main = document.querySelector("main[data-live]");
  if (!main || !window.EventSource) return;
  const byKey = (kind) => {
    const found = new Map();
    for (const each of document.querySelectorAll(`[data-${kind}]`)) {
      const key = each.dataset[kind];
      if (!found.has(key)) found.set(key, []);
      found.get(key).push(each);
    }
    return found;
  };
  const texts = byKey("text"), paths = byKey("path"), titles = byKey("title");
  const loaded = Date.now();
  let source = null, after = main.dataset.after, failures = 0, later = 0;
  // Told as text, once, where live numbers are not to be had; taken away when they are.
  const warning = document.createElement("p");
  warning.className = "warning";
  warning.setAttribute("role", "status");
  const again = () => {
    close();
    setTimeout(() => location.reload(), Math.max(0, 5000 - (Date.now() - loaded)));
  };
  const show = (message) => {
    const told = JSON.parse(message.data);
    after = message.lastEventId;
    if (told.shape !== main.dataset.shape) { again(); return; }
    for (const [key, text] of Object.entries(told.texts)) {
      for (const each of texts.get(key) || []) {
        (each.querySelector("a, .nothing") || each).textContent = text;
        each.classList.toggle("zero", text === "0");
      }
      for (const each of titles.get(key) || []) each.title = text;
    }
    for (const [key, line] of Object.entries(told.paths)) {
      for (const each of paths.get(key) || []) each.setAttribute("d", line);
    }
  };
  const close = () => {
    clearTimeout(later);
    later = 0;
    if (source) { source.close(); source = null; }
  };
  // A stream that ends is opened again by the browser. One that is refused (503: too many look, or
  // the database is away) is not: we ask again, more and more seldom.
  const refused = () => {
    if (!source || source.readyState !== EventSource.CLOSED) return;
    close();
    const pause = Math.min(5000 * 2 ** failures, 60000);
    failures += 1;
    warning.textContent = `These numbers stand still: no live numbers are to be had. Asked again every ${pause / 1000} s.`;
    if (!warning.isConnected) main.before(warning);
    later = setTimeout(open, pause);
  };
  const open = () => {
    if (source || document.hidden) return;
    clearTimeout(later);
    source = new EventSource(`${main.dataset.live}?after=${after}`);
    source.addEventListener("open", () => { failures = 0; warning.remove(); });
    source.addEventListener("message", show);
    source.addEventListener("end", again);
    source.addEventListener("error", refused);
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  open();
})();
