/** A dropped photo: its captions, and the attention of each noun. */

import { byId, make, request, showMessage } from "/elements.js";
import { showPhotos } from "/photos.js";

const COLOURS = ["#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#008080", "#9a6324", "#f032e6"];
const MOST_NAMED = 2;
const DARKEST = 170;  // of 255, where a word has no attention

/** Upload a photo and show its description. */
export async function describe(file) {
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
  const alike = Boolean(distinctive && !distinctive.distinct);
  byId("description").hidden = false;
  byId("preview").src = description.preview;
  byId("preview").alt = caption ? caption.text : name;
  byId("attention").replaceChildren();
  const nouns = showCaption("plain", caption) + showCaption("distinctive", agree || alike ? null : distinctive);
  byId("agree-hint").hidden = !agree || alike;
  showHint("alike-hint", alike && `Nothing sets it apart from ${named(distinctive.confused_with)}.`);
  showHint("apart-hint", !alike && distinctive && apartInWords(distinctive.differences));
  byId("unsure-hint").hidden = !caption || caption.sure !== false;
  byId("attention-hint").hidden = !nouns;
  showPhotos("similar", description.similar);
  showMessage("status", caption ? `Described ${name}` : `Photos similar to ${name}; there is no captioner.`);
  byId("description").focus({ preventScroll: true });
  byId("description").scrollIntoView({ block: "nearest" });
}

/** Show a sentence, or hide its place if there is none. */
function showHint(id, text) {
  byId(id).hidden = !text;
  byId(id).textContent = text || "";
}

/** The names of photos: "a.jpg, b.jpg and 3 others". */
function named(photos) {
  const names = photos.slice(0, MOST_NAMED).map((photo) => photo.name);
  const more = photos.length - names.length;
  if (!names.length) return "similar photos";
  return names.join(", ") + (more ? ` and ${more} other${more > 1 ? "s" : ""}` : "");
}

/** Which words set the photo apart: "Set apart by: bunk, blue." */
function apartInWords(differences) {
  return differences.length ? `Set apart by: ${differences.map((difference) => difference.word).join(", ")}.` : "";
}

/** Show the words of a caption, nouns with attention as buttons; returns how many there are. */
function showCaption(id, caption) {
  byId(`${id}-part`).hidden = !caption;
  if (!caption) return 0;
  let nouns = 0;
  const parts = caption.words.flatMap((word) => {
    return [word.attention ? nounButton(word, COLOURS[nouns++ % COLOURS.length]) : word.text, " "];
  });
  byId(id).replaceChildren(...(parts.length ? parts : ["—"]));
  return nouns;
}

/** A noun that shows its attention while it is pointed at or focused. */
function nounButton(word, colour) {
  const overlay = attentionOverlay(word, colour);
  byId("attention").append(overlay);
  const button = make("button", { type: "button", className: "noun", textContent: word.text });
  button.setAttribute("aria-description", `attention at the ${centreInWords(word.box)} of the photo`);
  button.style.borderBottomColor = colour;
  const activate = (on) => {
    for (const element of [overlay, button]) element.classList.toggle("active", on);
  };
  for (const event of ["pointerenter", "focus", "click"]) button.addEventListener(event, () => activate(true));
  button.addEventListener("pointerleave", () => activate(document.activeElement === button));
  button.addEventListener("blur", () => activate(false));
  return button;
}

/** The photo darkened where a word has little attention, and the box where it has most. */
function attentionOverlay(word, colour) {
  const rows = word.attention;
  const canvas = make("canvas", { width: rows[0].length, height: rows.length });
  const shade = canvas.getContext("2d").createImageData(canvas.width, canvas.height);
  rows.flat().forEach((weight, cell) => { shade.data[4 * cell + 3] = DARKEST * (1 - Math.sqrt(weight)); });
  canvas.getContext("2d").putImageData(shade, 0, 0);
  const [left, top, right, bottom] = word.box.map((share) => 100 * share);
  const box = make("i");
  Object.assign(box.style, {
    left: `${left}%`, top: `${top}%`, width: `${right - left}%`, height: `${bottom - top}%`, borderColor: colour,
  });
  return make("div", {}, canvas, box);
}

/** Where the centre of a box lies: "top left", "middle", … */
function centreInWords([left, top, right, bottom]) {
  const part = (sum, first, last) => (sum < 0.8 ? first : sum > 1.2 ? last : "middle");
  const across = part(left + right, "left", "right"), down = part(top + bottom, "top", "bottom");
  return across === down ? "middle" : `${down} ${across}`;
}
