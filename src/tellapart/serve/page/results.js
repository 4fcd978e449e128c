/** Results: the newest photos, a search, or photos similar to one, as the address says. More load while scrolling. */

import { current, goTo, onChange, resultsPart } from "/address.js";
import { showPhotos } from "/cards.js";
import { byId, make, photoUrl, request, showMessage, showText } from "/elements.js";
import { fillFields, searchFor, settle } from "/search_form.js";

const PAGE_SIZE = 24;
const MAX_RANKED = 5000;  // results of a search, and similar photos
const NEAR_END = 600;  // pixels below the window

let resultsRequest = new AbortController();
let shown = "";  // the part of the address that the results belong to
let complete = true;  // whether there are no more photos
let loading = false;

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

/** Add photos when the end of the list is near. */
export async function showMore(isWanted = isNearEnd()) {
  if (isWanted && !complete && !loading) await load(current(), resultsRequest.signal, true);
}

const shownCount = () => byId("results").children.length + byId("less-sure").children.length;
const isNearEnd = () => byId("end-of-results").getBoundingClientRect().top < innerHeight + NEAR_END;

async function load(address, signal, more) {
  loading = true;
  try {
    const offset = more ? shownCount() : 0;
    const results = await loadResults(address, offset, signal);
    if (!more) showHead(results);
    showLists(results.photos, more);
    complete = results.complete;
    showText("end", complete && shownCount() > PAGE_SIZE ? "No more photos." : "");
  } catch (error) {
    if (error.name === "AbortError") return;
    complete = true;
    if (!more) {
      showHead({ title: titleOf(address), message: "" });
      showLists([], false);
    }
    showMessage("results-hint", error.message, true);
  } finally {
    loading = signal.aborted;
  }
  showMore();
}

/** Clear matches stand first, those that are less sure under their own heading. */
function showLists(photos, more) {
  showPhotos("results", photos.filter((photo) => !photo.weak), more);
  showPhotos("less-sure", photos.filter((photo) => photo.weak), more);
  byId("less-sure-part").hidden = !byId("less-sure").children.length;
}

function showHead({ title, message, unknown = [], corrected = null }) {
  byId("results-title").textContent = title;
  document.title = title === titleOf(new URLSearchParams()) ? "Tellapart" : `${title} - Tellapart`;
  byId("about").classList.toggle("elsewhere", Boolean(resultsPart()));
  showMessage("results-hint", message);
  showUnknown(unknown, corrected);
}

/** Name the words that nobody knows, and offer the query with others in their place. */
function showUnknown(unknown, corrected) {
  byId("unknown").hidden = !unknown.length;
  const words = unknown.map(({ word }) => `“${word}”`).join(", ");
  byId("unknown").replaceChildren(`${unknown.length === 1 ? "Unknown word" : "Unknown words"} ${words}.`);
  if (!corrected) return;
  const button = make("button", { type: "button", className: "link", textContent: corrected });
  button.addEventListener("click", () => { searchFor(corrected); byId("query").focus(); });
  byId("unknown").append(" Did you mean ", button, "?");
}

function titleOf(address, name = "a photo") {
  if (address.has("similar")) return `Photos similar to ${name}`;
  if (address.has("query")) return `Results for “${address.get("query")}”`;
  return resultsPart(address) ? "Newest photos with these filters" : "Newest photos";
}

async function loadResults(address, offset, signal) {
  if (address.has("similar")) {
    const photo = await request(photoUrl(address.get("similar")), { signal });
    const found = await ranked(`${photoUrl(photo.id)}/similar?`, offset, signal);
    const message = found.photos.length ? "Most similar photos first." : "There are no other photos.";
    return { ...found, title: titleOf(address, photo.name), message };
  }
  if (address.has("query")) {
    const found = await ranked(`/api/search?${resultsPart(address)}&`, offset, signal);
    return { ...found, title: titleOf(address), message: matchesInWords(found.photos, address.get("query")) };
  }
  const { photos } = await request(`/api/photos?${resultsPart(address)}&count=${PAGE_SIZE}&offset=${offset}`, { signal });
  const message = resultsPart(address) && !photos.length && !offset ? "No photo matches these filters." : "";
  return { title: titleOf(address), photos, message, complete: photos.length < PAGE_SIZE };
}

function matchesInWords(photos, query) {
  if (!photos.length) return `No photo matches “${query}”.`;
  return photos.every((photo) => photo.weak) ? "No clear match." : "Best matches first.";
}

/** Photos of a ranked list after the first `offset`. */
async function ranked(url, offset, signal) {
  const found = await request(`${url}count=${PAGE_SIZE}&offset=${offset}`, { signal });
  const isComplete = found.photos.length < PAGE_SIZE || offset + PAGE_SIZE > MAX_RANKED;
  return { ...found, complete: isComplete };
}

/** Show photos similar to a photo of the index. */
export function findSimilar(id) {
  settle();
  goTo(new URLSearchParams({ similar: id }));
  byId("results").focus();
  scrollTo(0, 0);
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

/** Show the results of the address, now and when it changes. */
export function startResults() {
  onChange(followAddress);
  window.addEventListener("popstate", () => { settle(); fillFields(); });
  window.addEventListener("scroll", () => showMore(), { passive: true });
  window.addEventListener("resize", () => showMore(), { passive: true });
  showResults();
}
