/** A described photo: its captions, the attention of each noun, and similar photos. */

import { showPhotos } from "/cards.js";
import { byId, make, showText } from "/elements.js";
import { attentionOverlay, placeInWords } from "/heat.js";

const MOST_NAMED = 2;

/** Show the description of a photo with this file name. */
export function showDescription(description, name) {
  const { caption } = description;
  const distinctive = description.distinctive_caption;
  const agree = Boolean(caption && distinctive && caption.text === distinctive.text);
  const alike = Boolean(distinctive && !distinctive.distinct);
  byId("description").hidden = false;
  byId("description-title").textContent = name;
  byId("preview").src = description.preview;
  byId("preview").alt = caption ? caption.text : name;
  byId("attention").replaceChildren();
  const nouns = showCaption("plain", caption) + showCaption("distinctive", agree || alike ? null : distinctive);
  byId("agree-hint").hidden = !agree || alike;
  showText("alike-hint", alike && `Nothing sets it apart from ${named(distinctive.confused_with)}.`);
  showText("apart-hint", !alike && distinctive && apartInWords(distinctive.differences));
  byId("unsure-hint").hidden = !caption || caption.sure !== false;
  byId("attention-hint").hidden = !nouns;
  byId("similar-part").hidden = !description.similar.length;
  showPhotos("similar", description.similar);
}

/** The names of photos: "a.jpg, b.jpg and 3 others". */
function named(photos) {
  const names = photos.slice(0, MOST_NAMED).map((photo) => photo.name);
  const more = photos.length - names.length;
  if (!names.length) return "similar photos";
  return names.join(more ? ", " : " and ") + (more ? ` and ${more} other${more > 1 ? "s" : ""}` : "");
}

/** Which words set the photo apart: "Set apart by: bunk, blue." */
function apartInWords(differences) {
  return differences.length ? `Set apart by: ${differences.map((difference) => difference.word).join(", ")}.` : "";
}

/** Show the words of a caption, nouns with attention as buttons; returns how many there are. */
function showCaption(id, caption) {
  byId(`${id}-part`).hidden = !caption;
  if (!caption) return 0;
  const parts = caption.words.flatMap((word) => [word.attention ? nounButton(word) : word.text, " "]);
  byId(id).replaceChildren(...(parts.length ? parts : ["—"]));
  return caption.words.filter((word) => word.attention).length;
}

/** A noun that shows its attention while it is pointed at or focused. */
function nounButton(word) {
  const overlay = attentionOverlay(word.attention);
  byId("attention").append(overlay);
  const button = make("button", { type: "button", className: "noun", textContent: word.text });
  button.setAttribute("aria-description", `attention at the ${placeInWords(word.attention)} of the photo`);
  const activate = (on) => {
    for (const element of [overlay, button]) element.classList.toggle("active", on);
  };
  for (const event of ["pointerenter", "focus", "click"]) button.addEventListener(event, () => activate(true));
  button.addEventListener("pointerleave", () => activate(document.activeElement === button));
  button.addEventListener("blur", () => activate(false));
  return button;
}
