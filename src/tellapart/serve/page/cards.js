/** Lists of photos: a card per photo, with its caption or name. */

import { openInAddress } from "/address.js";
import { byId, imageUrl, make } from "/elements.js";

/** The event when a list has other photos. */
export const SHOWN = "photos-shown";

/** Replace the photos of a list, or add some. */
export function showPhotos(list, photos, add = false) {
  if (!add) byId(list).replaceChildren();
  byId(list).append(...photos.map(card));
  document.dispatchEvent(new Event(SHOWN));
}

function card(photo) {
  const image = make("img", { src: imageUrl(photo.id, "small"), alt: "", loading: "lazy", width: 320, height: 240 });
  image.addEventListener("error", () => button.classList.add("missing"));
  const button = make("button", { type: "button" }, image, make("span", { className: "text" }, ...texts(photo)));
  button.dataset.id = photo.id;
  button.addEventListener("click", () => openInAddress(photo.id));
  return make("li", {}, button);
}

/** The texts under a photo: its caption or name, and a word about a caption that may be untrue. */
function texts(photo) {
  const isUnsure = photo.caption && photo.sure === false;
  return isUnsure ? [photo.caption, " ", make("small", { textContent: "not sure" })] : [photo.caption || photo.name];
}

/** Show the caption of a photo on all its cards. */
export function renewCards(photo) {
  for (const text of document.querySelectorAll(`.photos [data-id="${CSS.escape(photo.id)}"] .text`)) {
    text.replaceChildren(...texts(photo));
  }
}

/** The first card of a photo. */
export const cardOf = (id) => document.querySelector(`.photos [data-id="${CSS.escape(id)}"]`);

/** The cards before and after the card of a photo, in the list that shows it. */
export function adjacentCards(id) {
  const item = cardOf(id)?.parentElement;
  return [item?.previousElementSibling, item?.nextElementSibling].map((other) => other?.firstElementChild);
}
