"use strict";
// Keys: j and k go to the next and the previous row, Enter opens it, Esc closes what stands beside;
// / opens a palette of this page's links. Pages are whole without this.
(() => {
  const BESIDE = { j: "next", k: "previous", Escape: "close" };
  const MOST = 12;
  const rows = [...document.querySelectorAll("a.row-link")];

  const step = (key) => {
    const at = rows.indexOf(document.activeElement);
    const next = key === "j" ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0);
    rows[next].focus();
  };

  const made = (name, properties, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };
  const words = (link) => (link.textContent || "").replace(/\s+/g, " ").trim();

  // The palette: every link of the page by its words, and the search for what is none of them.
  const palette = () => {
    const links = [...document.querySelectorAll("header a[href], main a[href]")]
      .filter((link) => words(link) && link.checkVisibility());
    const list = made("ul", { id: "palette-list" });
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Links of this page");
    const input = made("input", { type: "search", autocomplete: "off", spellcheck: false });
    for (const [name, value] of [["role", "combobox"], ["aria-expanded", "true"],
      ["aria-controls", "palette-list"], ["aria-label", "Go to a link of this page, or search"]]) {
      input.setAttribute(name, value);
    }
    const dialog = made("dialog", { className: "palette" }, input, list);
    dialog.setAttribute("aria-label", "Go to");
    let chosen = 0, targets = [];
    const choose = (place) => {
      chosen = Math.max(0, Math.min(place, targets.length - 1));
      [...list.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === chosen)));
      const item = list.children[chosen];
      if (item) { input.setAttribute("aria-activedescendant", item.id); item.scrollIntoView({ block: "nearest" }); }
    };
    const show = () => {
      const sought = input.value.trim().toLowerCase();
      targets = links.filter((link) => words(link).toLowerCase().includes(sought)).slice(0, MOST)
        .map((link) => ({ text: words(link).slice(0, 120), go: () => link.click() }));
      const search = document.getElementById("q");
      if (sought && search) {
        targets.push({ text: `Search everything for: ${input.value.trim()}`,
          go: () => { search.value = input.value.trim(); search.form.submit(); } });
      }
      list.replaceChildren(...targets.map((target, at) => {
        const item = made("li", { id: `palette-${at}`, dir: "auto", textContent: target.text });
        item.setAttribute("role", "option");
        item.addEventListener("click", () => { dialog.close(); target.go(); });
        return item;
      }));
      choose(0);
    };
    input.addEventListener("input", show);
    dialog.addEventListener("keydown", (event) => {
      const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (move) { event.preventDefault(); choose(chosen + move); }
      if (event.key === "Enter" && targets[chosen]) { event.preventDefault(); dialog.close(); targets[chosen].go(); }
    });
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    show();
    dialog.showModal();
    input.focus();
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea, dialog, [contenteditable]")) return;
    if (event.key === "/") { event.preventDefault(); palette(); return; }
    const verdict = { p: "pass", f: "fail", u: "unclear" }[event.key];
    const radio = verdict && document.querySelector(`.labelling input[name=verdict][value=${verdict}]`);
    if (radio) { radio.checked = true; radio.focus(); return; }
    if (!BESIDE[event.key]) return;
    const beside = document.querySelector(`a[data-key=${BESIDE[event.key]}]`);
    if (beside) beside.click();
    else if (event.key !== "Escape" && rows.length) step(event.key);
  });
})();
