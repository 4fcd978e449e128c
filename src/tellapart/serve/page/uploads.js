/** Photos that are dropped, chosen or taken: each is described, and problems name the file and the reason. */

import { showDescription } from "/description.js";
import { byId, make, request, showMessage } from "/elements.js";

const TOGETHER = 3;  // photos that the server describes at a time

let limit = Infinity;  // bytes of a file
let described = [];  // {name, description} in the order of the files
let place = 0;  // of the one that is shown
let round = 0;

/** Set the maximum size of a file in bytes. */
export function setUploadLimit(bytes) {
  limit = bytes;
}

/** Describe files; the first description appears as soon as it is there. */
export async function describeFiles(files) {
  if (!files.length) return;
  const own = ++round, results = files.map(() => null);
  byId("problems").replaceChildren();
  described = [];
  let finished = 0;
  const count = () => showMessage("status", finished < files.length ? progressInWords(files, finished) : "");
  count();
  const waiting = files.map((file, at) => [file, at]);
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [file, at] = next;
      const result = await describeFile(file);
      if (own !== round) return;  // other files were dropped meanwhile
      finished += 1;
      count();
      if (result.problem) showProblem(file.name, result.problem);
      else results[at] = { name: file.name, description: result.description };
      described = results.filter(Boolean);
      if (result.description) showPlace(Math.min(place, described.length - 1), described.length === 1);
    }
  };
  place = 0;
  await Promise.all(Array.from({ length: TOGETHER }, work));
  if (own === round && described.length) showMessage("status", summary());
}

/** Describe what was dropped; a link or a text has no files. */
function describeDropped(files) {
  if (files.length) describeFiles(files);
  else showMessage("status", "There is no file in what you dropped. Save the photo first, then drop its file.", true);
}

function progressInWords(files, finished) {
  return files.length === 1 ? `Describing ${files[0].name} …` : `Describing photos: ${finished} of ${files.length} …`;
}

function summary() {
  if (described.length > 1) return `Described ${described.length} photos.`;
  const [{ name, description }] = described;
  return description.caption ? `Described ${name}.` : `Photos similar to ${name}. There are no captions: the index has no captioner.`;
}

/** The description of a file, or the problem with it. */
async function describeFile(file) {
  const problem = await problemOf(file);
  if (problem) return { problem };
  const form = new FormData();
  form.append("photo", file);
  try {
    return { description: await request("/api/describe", { method: "POST", body: form }) };
  } catch (error) {
    return { problem: error.message };
  }
}

/** What is wrong with a file before it is sent. */
async function problemOf(file) {
  if (file.size > limit) return `The file has ${megabytes(file.size)}; the limit is ${megabytes(limit)}. Choose a smaller one.`;
  try {
    const start = await file.slice(0, 1).arrayBuffer();
    return start.byteLength ? "" : "The file is empty.";
  } catch {
    return "The file cannot be read. Choose a photo, not a folder.";
  }
}

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

function showProblem(name, problem) {
  byId("problems").append(make("li", {}, make("strong", { textContent: name }), `: ${problem}`));
}

/** Show one of the described photos. */
function showPlace(at, isFirst = false) {
  place = at;
  const { name, description } = described[at];
  showDescription(description, name);
  byId("described-steps").hidden = described.length < 2;
  byId("described-place").textContent = `${at + 1} of ${described.length}`;
  byId("previous-described").disabled = at === 0;
  byId("next-described").disabled = at === described.length - 1;
  if (!isFirst) return;
  byId("description").focus({ preventScroll: true });
  byId("description").scrollIntoView({ block: "nearest" });
}

/** Accept files from the fields, and photos dropped anywhere: a drop beside the field must not replace the page. */
export function startUploads() {
  for (const id of ["file", "take-photo"]) {
    byId(id).addEventListener("change", (event) => {
      describeFiles([...event.target.files]);
      event.target.value = "";
    });
  }
  for (const type of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(type, (event) => {
      event.preventDefault();
      byId("drop").classList.toggle("over", type === "dragover");
      if (type === "drop") describeDropped([...event.dataTransfer.files]);
    });
  }
  document.addEventListener("paste", (event) => describeFiles([...event.clipboardData.files]));
  byId("previous-described").addEventListener("click", () => showPlace(place - 1));
  byId("next-described").addEventListener("click", () => showPlace(place + 1));
  byId("close-description").addEventListener("click", () => {
    round += 1;
    byId("description").hidden = true;
    showMessage("status", "");
    byId("query").focus();
  });
}
