"use strict";

const byId = (id) => document.getElementById(id);
const COLOURS = ["#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#008080", "#9a6324", "#f032e6"];
const TYPING = 180;  // milliseconds of rest before a search
const FIELDS = ["words", "without", "after", "before"];

/** Make an element; text goes in as text, never as markup. */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Ask the API; an Error with the server's sentence where it refuses. */
async function ask(address, options = {}) {
  let answer;
  try {
    answer = await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server cannot be reached.");
  }
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(said.detail || `The server answered ${answer.status}.`);
  return said;
}

function say(where, text, problem = false) {
  byId(where).textContent = text;
  byId(where).classList.toggle("problem", problem);
}

const imageOf = (id, size) => `/api/pictures/${id}/image?size=${size}`;

function showPictures(list, found) {
  byId(list).replaceChildren(...found.map((one) => {
    const image = make("img", { src: imageOf(one.id, "small"), alt: "", loading: "lazy", width: 320, height: 240 });
    const button = make("button", { type: "button" }, image, make("span", { textContent: one.caption || one.name }));
    button.dataset.id = one.id;
    button.addEventListener("click", () => openPicture(one.id));
    return make("li", {}, button);
  }));
}

/* Search as you type: the last question wins. */

let searching = new AbortController();
let resting = 0;

async function search() {
  searching.abort();
  searching = new AbortController();
  const asked = new URLSearchParams(FIELDS.map((id) => [id, byId(id).value.trim()]).filter(([, value]) => value));
  history.replaceState(null, "", asked.size ? `#${asked}` : location.pathname);
  if (!asked.has("words")) {
    showPictures("results", []);
    say("status", "");
    return;
  }
  try {
    const { found } = await ask(`/api/search?${asked}`, { signal: searching.signal });
    showPictures("results", found);
    say("status", found.length ? `${found.length} pictures, best first` : "No picture was found.");
  } catch (error) {
    if (error.name !== "AbortError") say("status", error.message, true);
  }
}

function searchSoon() {
  clearTimeout(resting);
  resting = setTimeout(search, TYPING);
}

/* A dropped photo: its sentences, and a box for each noun. */

async function tell(file) {
  if (!file) return;
  say("status", `Looking at ${file.name} …`);
  const form = new FormData();
  form.append("photo", file);
  try {
    const told = await ask("/api/photos", { method: "POST", body: form });
    byId("told").hidden = false;
    byId("photo").src = told.preview;
    byId("photo").alt = told.plain ? told.plain.text : file.name;
    byId("boxes").replaceChildren();
    const boxes = showSentence("plain", told.plain) + showSentence("apart", told.apart);
    byId("nouns-hint").hidden = !boxes;
    showPictures("similar", told.similar);
    say("status", told.plain ? `Caption: ${told.plain.text}` : "There is no captioner; similar pictures are below.");
    byId("told").focus({ preventScroll: true });
    byId("told").scrollIntoView({ block: "nearest" });
  } catch (error) {
    say("status", error.message, true);
  }
}

/** The words of a sentence, nouns with their boxes; how many boxes there are. */
function showSentence(place, sentence) {
  byId(`${place}-part`).hidden = !sentence;
  if (!sentence) return 0;
  let nouns = 0;
  const parts = sentence.words.flatMap((word) => {
    if (!word.noun || !word.box) return [word.word, " "];
    return [noun(word, COLOURS[nouns++ % COLOURS.length], place === "plain"), " "];
  });
  byId(place).replaceChildren(...(parts.length ? parts : ["—"]));
  return nouns;
}

/** A noun that lights its box while it is pointed at or focused. `shown`: its box is faintly there before. */
function noun(word, colour, shown) {
  const [left, top, right, bottom] = word.box.map((share) => 100 * share);
  const box = make("i", { hidden: !shown });
  Object.assign(box.style, {
    left: `${left}%`, top: `${top}%`, width: `${right - left}%`, height: `${bottom - top}%`, borderColor: colour,
  });
  byId("boxes").append(box);
  const across = left + right < 80 ? "left" : left + right > 120 ? "right" : "middle";
  const down = top + bottom < 80 ? "top" : top + bottom > 120 ? "bottom" : "middle";
  const where = across === down ? "middle" : `${down} ${across}`;
  const button = make("button", { type: "button", className: "noun", textContent: word.word });
  button.setAttribute("aria-description", `looked at the ${where} of the photo`);
  button.style.borderBottomColor = colour;
  const light = (on) => {
    box.classList.toggle("lit", on);
    button.classList.toggle("lit", on);
    box.hidden = !on && !shown;
  };
  for (const start of ["pointerenter", "focus", "click"]) button.addEventListener(start, () => light(true));
  button.addEventListener("pointerleave", () => light(document.activeElement === button));
  button.addEventListener("blur", () => light(false));
  return button;
}

/* One picture of the index, and its caption. */

let open = "";

async function openPicture(id) {
  try {
    showPicture(await ask(`/api/pictures/${id}`));
    say("saved", "");
    byId("large").src = imageOf(id, "large");
    byId("picture").showModal();
    byId("caption").focus();
  } catch (error) {
    say("status", error.message, true);
  }
}

function showPicture(picture) {
  open = picture.id;
  byId("picture-name").textContent = picture.name;
  byId("large").alt = picture.caption || picture.name;
  byId("caption").value = picture.caption || "";
  byId("written").textContent = picture.edited && picture.written ? `The captioner wrote: ${picture.written}` : "";
  byId("undo").hidden = !picture.edited;
  for (const button of document.querySelectorAll(`.pictures [data-id="${picture.id}"] span`)) {
    button.textContent = picture.caption || picture.name;
  }
}

async function save(caption) {
  try {
    const address = `/api/pictures/${open}/caption`;
    const headers = { "content-type": "application/json" };
    showPicture(await ask(address, { method: "PUT", headers, body: JSON.stringify({ caption }) }));
    say("saved", "Saved.");
  } catch (error) {
    say("saved", error.message, true);
  }
}

async function showAlike() {
  byId("picture").close();
  try {
    const { found } = await ask(`/api/pictures/${open}/similar`);
    showPictures("results", found);
    say("status", `${found.length} pictures like ${byId("picture-name").textContent}`);
    byId("results").focus();
  } catch (error) {
    say("status", error.message, true);
  }
}

/* Wiring. */

byId("search").addEventListener("submit", (event) => { event.preventDefault(); search(); });
for (const id of FIELDS) byId(id).addEventListener("input", searchSoon);
byId("file").addEventListener("change", (event) => { tell(event.target.files[0]); event.target.value = ""; });
byId("caption-form").addEventListener("submit", (event) => { event.preventDefault(); save(byId("caption").value); });
byId("undo").addEventListener("click", () => save(null));
byId("alike").addEventListener("click", showAlike);
byId("close").addEventListener("click", () => byId("picture").close());
byId("picture").addEventListener("click", (event) => { if (event.target === byId("picture")) byId("picture").close(); });

// A photo dropped anywhere is taken, so that one that misses the mark does not replace the page.
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    byId("drop").classList.toggle("over", kind === "dragover");
    if (kind === "drop") tell(event.dataTransfer.files[0]);
  });
}

const asked = new URLSearchParams(location.hash.slice(1));
for (const id of FIELDS) byId(id).value = asked.get(id) || "";
search();
