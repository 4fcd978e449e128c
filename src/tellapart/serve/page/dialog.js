/** The dialog with one photo: what is known about it, its caption and earlier captions, and the photos next to it. */

import { closeInAddress, current, onChange, openInAddress } from "/address.js";
import { SHOWN, adjacentCards, cardOf, renewCards } from "/cards.js";
import {
  byId, dayInWords, imageUrl, make, number, photoUrl, request, showMessage, showText, timeInWords,
} from "/elements.js";
import { filterBy } from "/search_form.js";

const SWIPE = 60;  // pixels
const NEAR = 1;  // kilometres

const dialog = byId("photo");
let open = null;  // the photo that is shown
let loadMore = () => {};

/** Show the photo that the address names, or none. */
async function followAddress() {
  const id = current().get("photo");
  if (!id) {
    if (dialog.open) dialog.close();
    return;
  }
  if (id === open?.id && dialog.open) return;
  try {
    const photo = await request(photoUrl(id));
    if (current().get("photo") !== id) return;  // another one was chosen meanwhile
    showMessage("saved", "");
    byId("large").src = imageUrl(photo.id, "large");
    showPhoto(photo);
    showSteps();
    if (!dialog.open) dialog.showModal();
    byId("photo-name").focus();
    await showEdits(photo);
  } catch (error) {
    showMessage(dialog.open ? "saved" : "status", error.message, true);
  }
}

function showPhoto(photo) {
  open = photo;
  byId("photo-name").textContent = photo.name;
  byId("large").alt = photo.caption || photo.name;
  const facts = {
    Folder: photo.folder !== "." && photo.folder,
    Taken: photo.taken && dayInWords(photo.taken),
    Camera: photo.camera,
    Size: photo.width && `${number(photo.width)} × ${number(photo.height)} pixels`,
  };
  const pairs = Object.entries(facts).filter(([, value]) => value);
  byId("facts").replaceChildren(
    ...pairs.map(([name, value]) => make("div", {}, make("dt", { textContent: name }), make("dd", { textContent: value }))),
  );
  showPlace(photo);
  byId("original").href = `${photoUrl(photo.id)}/original`;
  byId("caption").value = photo.caption || "";
  byId("unsure").hidden = photo.sure !== false;
  showText("generated", photo.edited && photo.generated_caption && `Generated caption: ${photo.generated_caption}`);
  byId("restore").hidden = !photo.edited;
  renewCards(photo);
}

/** Where the photo was taken, and the other photos from there. */
function showPlace({ latitude, longitude }) {
  const isKnown = typeof latitude === "number";
  byId("find-near").hidden = !isKnown;
  if (!isKnown) return;
  const place = `${latitude.toFixed(4)}, ${longitude.toFixed(4)}`;
  byId("facts").append(make("div", {}, make("dt", { textContent: "Place" }), make("dd", { textContent: place })));
  byId("find-near").dataset.place = `${place}, ${NEAR}`;
}

/** List the captions that were saved before, newest first; each can be put into the field again. */
async function showEdits(photo) {
  const { edits } = await request(`${photoUrl(photo.id)}/edits`);
  if (open !== photo) return;
  byId("edits-part").hidden = !edits.length;
  byId("edits").replaceChildren(...edits.map((edit) => {
    const text = make("span", { textContent: edit.caption ?? "Generated caption restored" });
    const time = make("time", { dateTime: edit.saved, textContent: timeInWords(edit.saved), className: "hint" });
    if (edit.caption === null) return make("li", {}, text, " ", time);
    const use = make("button", { type: "button", textContent: "Use again" });
    use.setAttribute("aria-label", `Use again: ${edit.caption}`);
    use.addEventListener("click", () => { byId("caption").value = edit.caption; byId("caption").focus(); });
    return make("li", {}, text, " ", time, " ", use);
  }));
}

async function saveCaption(caption) {
  try {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ caption });
    const photo = await request(`${photoUrl(open.id)}/caption`, { method: "PUT", headers, body });
    showPhoto(photo);
    showMessage("saved", "Saved.");
    await showEdits(photo);
  } catch (error) {
    showMessage("saved", error.message, true);
  }
}

/** Whether the photo may be left: its caption is saved, or the visitor agrees. */
function mayLeave() {
  const isSaved = !open || byId("caption").value === (open.caption || "");
  return isSaved || confirm("Leave this photo without saving its caption?");
}

function showSteps() {
  if (!open) return;
  const [previous, next] = adjacentCards(open.id);
  byId("previous").disabled = !previous;
  byId("next").disabled = !next;
}

/** Open the photo before (0) or after (1) this one. */
function step(direction) {
  const card = adjacentCards(open.id)[direction];
  if (!card || !mayLeave()) return;
  openInAddress(card.dataset.id);
  if (!adjacentCards(card.dataset.id)[1]) loadMore();
}

function close() {
  if (mayLeave()) dialog.close();
}

function addSteps() {
  byId("previous").addEventListener("click", () => step(0));
  byId("next").addEventListener("click", () => step(1));
  dialog.addEventListener("keydown", (event) => {
    const direction = ["ArrowLeft", "ArrowRight"].indexOf(event.key);
    if (direction < 0 || event.target === byId("caption") || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    step(direction);
  });
  let start = null;
  byId("large").addEventListener("touchstart", (event) => { start = event.touches.length === 1 ? event.touches[0].clientX : null; }, { passive: true });
  byId("large").addEventListener("touchend", (event) => {
    const distance = start === null ? 0 : event.changedTouches[0].clientX - start;
    if (Math.abs(distance) > SWIPE) step(distance < 0 ? 1 : 0);
  });
}

/** Handle the controls of the dialog; `findSimilar(id)` shows photos similar to the open one, `more()` adds photos. */
export function startDialog(findSimilar, more) {
  loadMore = more;
  byId("caption-form").addEventListener("submit", (event) => {
    event.preventDefault();
    saveCaption(byId("caption").value);
  });
  byId("restore").addEventListener("click", () => saveCaption(null));
  byId("find-similar").addEventListener("click", () => {
    if (!mayLeave()) return;
    const { id } = open;
    open = null;
    findSimilar(id);
  });
  byId("find-near").addEventListener("click", () => {
    if (!mayLeave()) return;
    open = null;
    filterBy("place", byId("find-near").dataset.place);
  });
  byId("close").addEventListener("click", close);
  dialog.addEventListener("cancel", (event) => { if (!mayLeave()) event.preventDefault(); });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) close(); });
  dialog.addEventListener("close", () => {
    closeInAddress();
    if (open) cardOf(open.id)?.focus();
  });
  addSteps();
  document.addEventListener(SHOWN, showSteps);
  onChange(followAddress);
  followAddress();
}
