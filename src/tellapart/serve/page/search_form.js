/** The search form: what the photos show, and filters. The address holds what the fields say. */

import { current, goTo } from "/address.js";
import { byId, request } from "/elements.js";

const TYPING_PAUSE = 180;  // milliseconds without a key before a search
const SETTLED_PAUSE = 2000;  // milliseconds after which the next search is a new step for Back
const FILTERS = ["without", "folder", "after", "before", "camera", "orientation", "place"];
const FIELDS = ["query", ...FILTERS];

let typingTimer = 0;
let settledTimer = 0;
let settled = true;  // whether the next search becomes a new step for Back

/** Make the next search a new step for Back. */
export function settle() {
  settled = true;
}

/** Fill the fields from the address. */
export function fillFields() {
  const address = current();
  for (const id of FIELDS) setField(id, address.get(id) || "");
  countFilters();
}

/** Search for something else, with the filters as they are. */
export function searchFor(query) {
  byId("query").value = query;
  settle();
  search();
}

/** Show the newest photos with one filter. */
export function filterBy(id, value) {
  settle();
  goTo(new URLSearchParams({ [id]: value }));
  fillFields();
  scrollTo(0, 0);
}

function setField(id, value) {
  const field = byId(id);
  if (field.tagName === "SELECT" && ![...field.options].some((option) => option.value === value)) {
    field.append(new Option(value, value));  // the choices may come later, or no longer have it
  }
  field.value = value;
}

function countFilters() {
  const count = FILTERS.filter((id) => byId(id).value.trim()).length;
  byId("filter-count").textContent = count ? ` (${count})` : "";
  byId("clear-filters").hidden = !count;
}

/** Search for what the fields say. Searches while typing are one step for Back. */
function search() {
  clearTimeout(typingTimer);
  countFilters();
  goTo(new URLSearchParams(FIELDS.map((id) => [id, byId(id).value.trim()]).filter(([, value]) => value)), settled);
  settled = false;
  clearTimeout(settledTimer);
  settledTimer = setTimeout(settle, SETTLED_PAUSE);
}

function searchSoon() {
  clearTimeout(typingTimer);
  typingTimer = setTimeout(search, TYPING_PAUSE);
}

/** Offer the folders and cameras of the index; fields that no photo can match are not shown. */
async function loadChoices() {
  const { folders, cameras, first, last, places } = await request("/api/filters");
  setChoices("folder", "Any folder", folders);
  setChoices("camera", "Any camera", cameras);
  for (const id of ["after", "before"]) Object.assign(byId(id), { min: first || "", max: last || "" });
  const isUsed = (id) => Boolean(byId(id).value);
  byId("folder-part").hidden = folders.length < 2 && !isUsed("folder");
  byId("camera-part").hidden = !cameras.length && !isUsed("camera");
  byId("place-part").hidden = !places && !isUsed("place");
}

function setChoices(id, any, choices) {
  const chosen = byId(id).value;
  byId(id).replaceChildren(new Option(any, ""), ...choices.map((choice) => new Option(choice, choice)));
  setField(id, chosen);
}

/** Search when a field changes. */
export function startSearchForm() {
  byId("search").addEventListener("submit", (event) => { event.preventDefault(); search(); settle(); });
  for (const id of FIELDS) {
    byId(id).addEventListener("input", searchSoon);
    byId(id).addEventListener("change", () => { search(); settle(); });
  }
  byId("filters").addEventListener("toggle", () => { if (byId("filters").open) loadChoices().catch(() => {}); });
  byId("clear-filters").addEventListener("click", () => {
    for (const id of FILTERS) byId(id).value = "";
    searchFor(byId("query").value);
    byId("filters").querySelector("summary").focus();
  });
  fillFields();
}
