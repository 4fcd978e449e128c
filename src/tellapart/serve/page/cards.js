/** Lists of photos: a card per photo, with its caption or name. */

import { openInAddress } from "/address.js";
import { byId, imageUrl, make, number } from "/elements.js";

/** The event when a list has other photos. */
export const SHOWN = "photos-shown";

const photosOf = new WeakMap();  // the photo of each card

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
  photosOf.set(button, photo);
  button.addEventListener("click", () => openInAddress(photo.id));
  return make("li", {}, button);
}

/** The texts under a photo: its caption or name, whether the caption may be untrue, and how many photos it stands for. */
function texts(photo) {
  const notes = [
    photo.caption && photo.sure === false && "not sure",
    photo.copies > 0 && `+${number(photo.copies)} similar`,
  ].filter(Boolean);
  const text = photo.caption || photo.name;
  return notes.length ? [text, " ", make("small", { textContent: notes.join(" · ") })] : [text];
}

/** Show the caption of a photo on all its cards. */
export function renewCards(photo) {
  for (const button of document.querySelectorAll(`.photos [data-id="${CSS.escape(photo.id)}"]`)) {
    button.querySelector(".text").replaceChildren(...texts({ ...photosOf.get(button), ...photo }));
  }
}

/** The first card of a photo. */
export const cardOf = (id) => document.querySelector(`.photos [data-id="${CSS.escape(id)}"]`);

/** The cards before and after the card of a photo, in the list that shows it. */
export function adjacentCards(id) {
  const item = cardOf(id)?.parentElement;
  const isLess = item?.parentElement === byId("less-sure"), isClear = item?.parentElement === byId("results");
  const previous = item?.previousElementSibling || (isLess && byId("results").lastElementChild);
  const next = item?.nextElementSibling || (isClear && byId("less-sure").firstElementChild);
  return [previous, next].map((other) => other?.firstElementChild);
}
