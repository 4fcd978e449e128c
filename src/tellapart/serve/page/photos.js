/** Lists of photos, and the dialog with one photo and its caption. */

import { byId, imageUrl, make, request, showMessage } from "/elements.js";

/** The text under a photo: its caption, with a word about captions that may be untrue. */
function cardText(photo) {
  return (photo.caption || photo.name) + (photo.caption && photo.sure === false ? " (not sure)" : "");
}

/** Replace the photos of a list, or add those after the ones it shows. */
export function showPhotos(list, photos, add = false) {
  const items = photos.slice(add ? byId(list).children.length : 0).map((photo) => {
    const image = make("img", { src: imageUrl(photo.id, "small"), alt: "", loading: "lazy", width: 320, height: 240 });
    const text = make("span", { textContent: cardText(photo) });
    const button = make("button", { type: "button" }, image, text);
    button.dataset.id = photo.id;
    button.addEventListener("click", () => openPhoto(button));
    return make("li", {}, button);
  });
  if (!add) byId(list).replaceChildren();
  byId(list).append(...items);
}

const dialog = byId("photo");
let openId = "";
let adjacent = [];  // previous and next button of the list that the open photo is in

async function openPhoto(button) {
  try {
    const photo = await request(`/api/photos/${button.dataset.id}`);
    showPhoto(photo);
    showMessage("saved", "");
    byId("large").src = imageUrl(photo.id, "large");
    const item = button.parentElement;
    adjacent = [item.previousElementSibling, item.nextElementSibling].map((other) => other?.firstElementChild);
    byId("previous").disabled = !adjacent[0];
    byId("next").disabled = !adjacent[1];
    if (dialog.open) return;
    dialog.showModal();
    if (!matchMedia("(pointer: coarse)").matches) byId("caption").focus();  // on a phone it would open the keyboard
  } catch (error) {
    showMessage(dialog.open ? "saved" : "status", error.message, true);
  }
}

function showPhoto(photo) {
  openId = photo.id;
  byId("photo-name").textContent = photo.name;
  byId("large").alt = photo.caption || photo.name;
  const taken = photo.taken && new Date(photo.taken).toLocaleDateString(undefined, { dateStyle: "long" });
  const facts = [photo.folder !== "." && photo.folder, taken, `${photo.width} × ${photo.height} pixels`];
  byId("facts").textContent = facts.filter(Boolean).join(" · ");
  byId("caption").value = photo.caption || "";
  const generated = photo.edited && photo.generated_caption;
  byId("generated").textContent = generated ? `Generated caption: ${generated}` : "";
  byId("restore").hidden = !photo.edited;
  for (const text of document.querySelectorAll(`.photos [data-id="${photo.id}"] span`)) {
    text.textContent = cardText(photo);
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

/** Handle the controls of the dialog; `findSimilar(id)` shows photos similar to the open one. */
export function addDialogEvents(findSimilar) {
  byId("caption-form").addEventListener("submit", (event) => {
    event.preventDefault();
    saveCaption(byId("caption").value);
  });
  byId("restore").addEventListener("click", () => saveCaption(null));
  byId("find-similar").addEventListener("click", () => { dialog.close(); findSimilar(openId); });
  byId("previous").addEventListener("click", () => openPhoto(adjacent[0]));
  byId("next").addEventListener("click", () => openPhoto(adjacent[1]));
  byId("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
}
