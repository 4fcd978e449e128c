/** Connects the parts of the page. */

import { describe } from "/description.js";
import { byId } from "/elements.js";
import { addDialogEvents } from "/photos.js";
import { findSimilar, startResults } from "/results.js";

byId("file").addEventListener("change", (event) => { describe(event.target.files[0]); event.target.value = ""; });
byId("close-description").addEventListener("click", () => { byId("description").hidden = true; byId("query").focus(); });
byId("skip").addEventListener("click", (event) => { event.preventDefault(); byId("results").focus(); });

// The whole page accepts a drop, so that a photo dropped beside the field does not replace the page.
for (const type of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(type, (event) => {
    event.preventDefault();
    byId("drop").classList.toggle("over", type === "dragover");
    if (type === "drop") describe(event.dataTransfer.files[0]);
  });
}

addDialogEvents(findSimilar);
startResults();
