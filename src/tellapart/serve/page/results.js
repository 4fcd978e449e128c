/** Results: the newest photos, a search, or photos similar to one, as the address says. More load while scrolling. */

import { current, goTo, onChange, resultsPart } from "/address.js";
import { showPhotos } from "/cards.js";
import { byId, photoUrl, request, showMessage, showText } from "/elements.js";

const TYPING_PAUSE = 180;  // milliseconds without a key before a search
const SETTLED_PAUSE = 2000;  // milliseconds after which the next search is a new step for Back
const PAGE_SIZE = 24;
const MAX_RANKED = 200;  // results of a search, and similar photos
const NEAR_END = 600;  // pixels below the window
const FIELDS = ["query", "without", "after", "before"];

let resultsRequest = new AbortController();
let typingTimer = 0;
let settledTimer = 0;
let shown = "";  // the part of the address that the results belong to
let complete = true;  // whether there are no more photos
let loading = false;
let settled = true;  // whether the next search becomes a new step for Back

/** Whether the page shows the newest photos. */
export const showsNewest = () => !current().has("query") && !current().has("similar");

/** Show what the address asks for. */
export async function showResults() {
  const address = current();
  shown = resultsPart();
  resultsRequest.abort();
  resultsRequest = new AbortController();
  await load(address, resultsRequest.signal, false);
}

/** Add photos when the end of the list is near. Returns whether some were added. */
export async function showMore(isWanted = isNearEnd()) {
  if (!isWanted || complete || loading) return false;
  const before = byId("results").children.length;
  await load(current(), resultsRequest.signal, true);
  return byId("results").children.length > before;
}

async function load(address, signal, more) {
  loading = true;
  try {
    const offset = more ? byId("results").children.length : 0;
    const results = await loadResults(address, offset, signal);
    if (!more) showHead(results);
    showPhotos("results", results.photos, more);
    complete = results.complete;
    showText("end", complete && offset + results.photos.length > PAGE_SIZE ? "No more photos." : "");
  } catch (error) {
    if (error.name === "AbortError") return;
    complete = true;
    if (!more) {
      showHead({ title: titleOf(address), message: "" });
      showPhotos("results", []);
    }
    showMessage("results-hint", error.message, true);
  } finally {
    loading = signal.aborted;
  }
  showMore();
}

function showHead({ title, message }) {
  byId("results-title").textContent = title;
  document.title = showsNewest() ? "Tellapart" : `${title} - Tellapart`;
  byId("about").classList.toggle("elsewhere", !showsNewest());
  showMessage("results-hint", message);
}

function titleOf(address, name = "a photo") {
  if (address.has("similar")) return `Photos similar to ${name}`;
  return address.has("query") ? `Results for “${address.get("query")}”` : "Newest photos";
}

async function loadResults(address, offset, signal) {
  if (address.has("similar")) {
    const photo = await request(photoUrl(address.get("similar")), { signal });
    const photos = await ranked(`${photoUrl(photo.id)}/similar?`, offset, signal);
    const message = photos.photos.length ? "Most similar photos first." : "There are no other photos.";
    return { title: titleOf(address, photo.name), message, ...photos };
  }
  if (address.has("query")) {
    const photos = await ranked(`/api/search?${resultsPart(address)}&`, offset, signal);
    const message = photos.photos.length ? "Best matches first." : "No photos found.";
    return { title: titleOf(address), message, ...photos };
  }
  const { photos } = await request(`/api/photos?count=${PAGE_SIZE}&offset=${offset}`, { signal });
  const message = resultsPart(address) ? "Type what the photos show to use the filters." : "";
  return { title: titleOf(address), photos, message, complete: photos.length < PAGE_SIZE };
}

/** Photos of a ranked list after the first `offset`. */
async function ranked(url, offset, signal) {
  const count = Math.min(offset + PAGE_SIZE, MAX_RANKED);
  const { photos } = await request(`${url}count=${count}`, { signal });
  return { photos: photos.slice(offset), complete: photos.length < count || count === MAX_RANKED };
}

const isNearEnd = () => byId("results").getBoundingClientRect().bottom < innerHeight + NEAR_END;

/** Fill the fields from the address. */
function fillFields() {
  const address = current();
  for (const id of FIELDS) byId(id).value = address.get(id) || "";
}

/** Search for what the fields say. Searches while typing are one step for Back. */
function search() {
  clearTimeout(typingTimer);
  goTo(new URLSearchParams(FIELDS.map((id) => [id, byId(id).value.trim()]).filter(([, value]) => value)), settled);
  settled = false;
  clearTimeout(settledTimer);
  settledTimer = setTimeout(settle, SETTLED_PAUSE);
}

function settle() {
  settled = true;
}

/** Show photos similar to a photo of the index. */
export function findSimilar(id) {
  settle();
  goTo(new URLSearchParams({ similar: id }));
  byId("results").focus();
  scrollTo(0, 0);
}

function searchSoon() {
  clearTimeout(typingTimer);
  typingTimer = setTimeout(search, TYPING_PAUSE);
}

function followAddress() {
  if (resultsPart() === shown) return;
  if (document.activeElement?.form !== byId("search")) {
    settle();
    fillFields();
  }
  byId("description").hidden = true;
  showResults();
}

/** Show the results of the address, now and when it or a field changes. */
export function startResults() {
  onChange(followAddress);
  window.addEventListener("popstate", () => { settle(); fillFields(); });
  window.addEventListener("scroll", () => showMore(), { passive: true });
  window.addEventListener("resize", () => showMore(), { passive: true });
  byId("search").addEventListener("submit", (event) => { event.preventDefault(); search(); settle(); });
  for (const id of FIELDS) {
    byId(id).addEventListener("input", searchSoon);
    byId(id).addEventListener("change", settle);
  }
  fillFields();
  showResults();
}
