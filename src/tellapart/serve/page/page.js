"use strict";

const byId = (id) => document.getElementById(id);
const COLOURS = ["#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#008080", "#9a6324", "#f032e6"];
const TYPING_PAUSE = 180;  // milliseconds without a key before a search
const FIELDS = ["query", "without", "after", "before"];

/** Make an element; text goes in as text, never as markup. */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Call the API; throws an Error with the server's message if the request fails. */
async function request(url, options = {}) {
  let response;
  try {
    response = await fetch(url, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server cannot be reached.");
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(body.detail || `The server answered with status ${response.status}.`);
  return body;
}

function showMessage(id, text, isProblem = false) {
  byId(id).textContent = text;
  byId(id).classList.toggle("problem", isProblem);
}

const imageUrl = (id, size) => `/api/photos/${id}/image?size=${size}`;
const photoCount = (count) => `${count} ${count === 1 ? "photo" : "photos"}`;

function showPhotos(list, photos) {
  byId(list).replaceChildren(...photos.map((photo) => {
    const image = make("img", { src: imageUrl(photo.id, "small"), alt: "", loading: "lazy", width: 320, height: 240 });
    const text = make("span", { textContent: photo.caption || photo.name });
    const button = make("button", { type: "button" }, image, text);
    button.dataset.id = photo.id;
    button.addEventListener("click", () => openPhoto(photo.id));
    return make("li", {}, button);
  }));
}

/* Search while typing; the latest request wins. */

let searchRequest = new AbortController();
let typingTimer = 0;

async function search() {
  searchRequest.abort();
  searchRequest = new AbortController();
  const fields = new URLSearchParams(FIELDS.map((id) => [id, byId(id).value.trim()]).filter(([, value]) => value));
  history.replaceState(null, "", fields.size ? `#${fields}` : location.pathname);
  if (!fields.has("query")) {
    showPhotos("results", []);
    showMessage("status", "");
    return;
  }
  try {
    const { photos } = await request(`/api/search?${fields}`, { signal: searchRequest.signal });
    showPhotos("results", photos);
    showMessage("status", photos.length ? `${photoCount(photos.length)}, best match first` : "No photos found.");
  } catch (error) {
    if (error.name !== "AbortError") showMessage("status", error.message, true);
  }
}

function searchSoon() {
  clearTimeout(typingTimer);
  typingTimer = setTimeout(search, TYPING_PAUSE);
}

/* A dropped photo: its captions, and the attention of each noun. */

async function describe(file) {
  if (!file) return;
  showMessage("status", `Describing ${file.name} …`);
  const form = new FormData();
  form.append("photo", file);
  try {
    showDescription(await request("/api/describe", { method: "POST", body: form }), file.name);
  } catch (error) {
    showMessage("status", `${file.name}: ${error.message}`, true);
  }
}

function showDescription(description, name) {
  const { caption } = description;
  const distinctive = description.distinctive_caption;
  const agree = Boolean(caption && distinctive && caption.text === distinctive.text);
  byId("description").hidden = false;
  byId("preview").src = description.preview;
  byId("preview").alt = caption ? caption.text : name;
  byId("boxes").replaceChildren();
  const boxes = showCaption("plain", caption) + showCaption("distinctive", agree ? null : distinctive);
  byId("plain-label").textContent = agree ? "Caption; it also sets the photo apart from similar ones" : "Caption";
  byId("attention-hint").hidden = !boxes;
  showPhotos("similar", description.similar);
  showMessage("status", caption ? `Caption: ${caption.text}` : "There is no captioner; similar photos are below.");
  byId("description").focus({ preventScroll: true });
  byId("description").scrollIntoView({ block: "nearest" });
}

/** Show the words of a caption, nouns as buttons; returns the number of boxes. */
function showCaption(place, caption) {
  byId(`${place}-part`).hidden = !caption;
  if (!caption) return 0;
  let nouns = 0;
  const parts = caption.words.flatMap((word) => {
    if (!word.box) return [word.text, " "];
    return [nounButton(word, COLOURS[nouns++ % COLOURS.length], place === "plain"), " "];
  });
  byId(place).replaceChildren(...(parts.length ? parts : ["—"]));
  return nouns;
}

/** A noun that highlights its box while it is pointed at or focused. `visible`: the faint box shows before that. */
function nounButton(word, colour, visible) {
  const [left, top, right, bottom] = word.box.map((share) => 100 * share);
  const box = make("i", { hidden: !visible });
  Object.assign(box.style, {
    left: `${left}%`, top: `${top}%`, width: `${right - left}%`, height: `${bottom - top}%`, borderColor: colour,
  });
  byId("boxes").append(box);
  const button = make("button", { type: "button", className: "noun", textContent: word.text });
  button.setAttribute("aria-description", `attention at the ${place(left + right, top + bottom)} of the photo`);
  button.style.borderBottomColor = colour;
  const highlight = (on) => {
    box.classList.toggle("active", on);
    button.classList.toggle("active", on);
    box.hidden = !on && !visible;
  };
  for (const event of ["pointerenter", "focus", "click"]) button.addEventListener(event, () => highlight(true));
  button.addEventListener("pointerleave", () => highlight(document.activeElement === button));
  button.addEventListener("blur", () => highlight(false));
  return button;
}

/** A position in words; both coordinates are between 0 and 200. */
function place(x, y) {
  const across = x < 80 ? "left" : x > 120 ? "right" : "middle";
  const down = y < 80 ? "top" : y > 120 ? "bottom" : "middle";
  return across === down ? "middle" : `${down} ${across}`;
}

/* One photo of the index, and its caption. */

let openId = "";

async function openPhoto(id) {
  try {
    showPhoto(await request(`/api/photos/${id}`));
    showMessage("saved", "");
    byId("large").src = imageUrl(id, "large");
    byId("photo").showModal();
    byId("caption").focus();
  } catch (error) {
    showMessage("status", error.message, true);
  }
}

function showPhoto(photo) {
  openId = photo.id;
  byId("photo-name").textContent = photo.name;
  byId("large").alt = photo.caption || photo.name;
  byId("caption").value = photo.caption || "";
  const generated = photo.edited && photo.generated_caption;
  byId("generated").textContent = generated ? `Generated caption: ${generated}` : "";
  byId("restore").hidden = !photo.edited;
  for (const text of document.querySelectorAll(`.photos [data-id="${photo.id}"] span`)) {
    text.textContent = photo.caption || photo.name;
  }
}

async function saveCaption(caption) {
  try {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ caption });
    showPhoto(await request(`/api/photos/${openId}/caption`, { method: "PUT", headers, body }));
    showMessage("saved", "Saved.");
  } catch (error) {
    showMessage("saved", error.message, true);
  }
}

async function showSimilar() {
  byId("photo").close();
  try {
    const { photos } = await request(`/api/photos/${openId}/similar`);
    showPhotos("results", photos);
    showMessage("status", `${photoCount(photos.length)} similar to ${byId("photo-name").textContent}`);
    byId("results").focus();
  } catch (error) {
    showMessage("status", error.message, true);
  }
}

/* Events. */

const dialog = byId("photo");
byId("search").addEventListener("submit", (event) => { event.preventDefault(); search(); });
for (const id of FIELDS) byId(id).addEventListener("input", searchSoon);
byId("file").addEventListener("change", (event) => { describe(event.target.files[0]); event.target.value = ""; });
byId("caption-form").addEventListener("submit", (event) => { event.preventDefault(); saveCaption(byId("caption").value); });
byId("restore").addEventListener("click", () => saveCaption(null));
byId("find-similar").addEventListener("click", showSimilar);
byId("close").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

// The whole page accepts a drop, so that a photo dropped beside the field does not replace the page.
for (const type of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(type, (event) => {
    event.preventDefault();
    byId("drop").classList.toggle("over", type === "dragover");
    if (type === "drop") describe(event.dataTransfer.files[0]);
  });
}

const initial = new URLSearchParams(location.hash.slice(1));
for (const id of FIELDS) byId(id).value = initial.get(id) || "";
search();
