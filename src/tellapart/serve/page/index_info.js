/** How many photos there are, when they were indexed, and how far an update is. */

import { byId, number, photoCount, request, showText, timeInWords } from "/elements.js";
import { showResults, showsNewest } from "/results.js";
import { setUploadLimit } from "/uploads.js";

const WHILE_INDEXING = 2000;  // milliseconds between two questions
const OTHERWISE = 15000;

let photos = null;

function showInfo(info) {
  const indexed = info.indexed ? `, indexed ${timeInWords(info.indexed)}` : "";
  const skipped = info.skipped ? ` ${number(info.skipped)} ${info.skipped === 1 ? "file" : "files"} could not be read.` : "";
  const empty = info.indexing ? "No photos yet. They appear here while they are indexed." : "The index has no photos yet.";
  showText("about", info.photos ? `${photoCount(info.photos)}${indexed}.${skipped}` : empty);
  byId("original").hidden = !info.originals;
  setUploadLimit(info.max_upload_bytes);
  showProgress(info.indexing);
}

function showProgress(indexing) {
  byId("progress").hidden = !indexing;
  if (!indexing) return;
  const { done, total } = indexing;
  byId("progress-text").textContent = total ? `${number(done)} of ${photoCount(total)}` : photoCount(done);
  if (total) Object.assign(byId("progress-bar"), { max: total, value: Math.min(done, total) });
  else byId("progress-bar").removeAttribute("value");
}

/** Show the state of the index again and again; new photos appear unless the visitor has moved on. */
async function follow() {
  let pause = OTHERWISE;
  if (document.visibilityState === "visible") {
    try {
      const info = await request("/api/index");
      showInfo(info);
      const isBusy = byId("photo").open || !byId("description").hidden || scrollY > innerHeight / 2
        || byId("results").contains(document.activeElement);
      if (photos !== null && photos !== info.photos && showsNewest() && !isBusy) await showResults();
      photos = info.photos;
      if (info.indexing) pause = WHILE_INDEXING;
    } catch {
      // The server is away; the next question may be answered.
    }
  }
  setTimeout(follow, pause);
}

export const startIndexInfo = follow;
