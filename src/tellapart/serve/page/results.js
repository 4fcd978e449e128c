/**
 * Results: the newest photos, a search, or photos similar to one. The address says which, and Back steps through them.
 */

import { byId, photoCount, request, showMessage } from "/elements.js";
import { showPhotos } from "/photos.js";

const TYPING_PAUSE = 180;  // milliseconds without a key before a search
const SETTLED_PAUSE = 2000;  // milliseconds after which the next search is a new step for Back
const PAGE_SIZE = 24;
const MAX_RESULTS = 192;
const NEAR_END = 400;  // pixels below the window
const FIELDS = ["query", "without", "after", "before"];

let resultsRequest = new AbortController();
let typingTimer = 0;
let settledTimer = 0;
let requested = 0;  // how many photos the results asked for
let settled = true;  // whether the next search becomes a new step for Back

/** Fill the fields from the address. */
function fillFields() {
  const address = new URLSearchParams(location.hash.slice(1));
  for (const id of FIELDS) byId(id).value = address.get(id) || "";
}

/** Show what the address asks for; with `more`, add the next photos to those shown. */
async function showResults(more = false) {
  requested = more ? requested + PAGE_SIZE : PAGE_SIZE;
  resultsRequest.abort();
  resultsRequest = new AbortController();
  const { signal } = resultsRequest;
  const address = new URLSearchParams(location.hash.slice(1));
  try {
    const results = await loadResults(address, signal);
    byId("results-title").textContent = results.title;
    showPhotos("results", results.photos, more);
    if (!more) showMessage("status", results.message);
    showMore();
  } catch (error) {
    if (error.name !== "AbortError") showMessage("status", error.message, true);
  }
}

async function loadResults(address, signal) {
  if (address.has("similar")) {
    const url = `/api/photos/${encodeURIComponent(address.get("similar"))}`;
    const [photo, { photos }] = await Promise.all([request(url, { signal }), request(`${url}/similar?count=${requested}`, { signal })]);
    return { title: `Photos similar to ${photo.name}`, photos, message: "Most similar photos first" };
  }
  if (address.has("query")) {
    const { photos } = await request(`/api/search?${address}&count=${requested}`, { signal });
    const message = photos.length ? "Best matches first" : "No photos found.";
    return { title: `Results for “${address.get("query")}”`, photos, message };
  }
  const [index, { photos }] = await Promise.all([
    request("/api/index", { signal }), request(`/api/photos?count=${requested}`, { signal }),
  ]);
  const message = `${photoCount(index.photos)} in the index`;
  return { title: "Newest photos", photos, message: address.size ? `${message}. Type a search to use the filters.` : message };
}

/** Add photos when the end of the list is near, until there are no more. */
function showMore() {
  const isNear = byId("results").getBoundingClientRect().bottom < innerHeight + NEAR_END;
  if (isNear && byId("results").children.length === requested && requested < MAX_RESULTS) showResults(true);
}

/** Change the address and show its results. */
function goTo(address, asNewStep) {
  const url = address.size ? `#${address}` : location.pathname;
  if (url === (location.hash || location.pathname)) return;
  if (asNewStep) history.pushState(null, "", url);
  else history.replaceState(null, "", url);
  byId("description").hidden = true;
  showResults();
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
  goTo(new URLSearchParams({ similar: id }), true);
  fillFields();
  byId("results").focus();
}

function searchSoon() {
  clearTimeout(typingTimer);
  typingTimer = setTimeout(search, TYPING_PAUSE);
}

/** Show the results of the address, now and when it or a field changes. */
export function startResults() {
  const show = () => { settle(); fillFields(); showResults(); };
  window.addEventListener("popstate", show);
  window.addEventListener("scroll", showMore, { passive: true });
  byId("search").addEventListener("submit", (event) => { event.preventDefault(); search(); settle(); });
  for (const id of FIELDS) {
    byId(id).addEventListener("input", searchSoon);
    byId(id).addEventListener("change", settle);
  }
  show();
}
