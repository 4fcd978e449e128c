/**
 * The address of the page says what it shows: #query=two+dogs, #similar=ID, and &photo=ID for an open photo. It can be
 * bookmarked and sent to others, and Back steps through it.
 */

const listeners = [];

/** The parts of the address. */
export const current = () => new URLSearchParams(location.hash.slice(1));

/** The part that chooses the results: all but the open photo. */
export function resultsPart(address = current()) {
  const part = new URLSearchParams(address);
  part.delete("photo");
  return part.toString();
}

/** Call a function when the address has changed. */
export function onChange(listener) {
  listeners.push(listener);
}

function notify() {
  for (const listener of listeners) listener(current());
}

/** Change the address; as a new step, Back returns to the one before. `state` is kept with the step. */
export function goTo(address, asNewStep = true, state = null) {
  const url = address.size ? `#${address}` : location.pathname;
  if (url === (location.hash || location.pathname)) return;
  if (asNewStep) history.pushState(state, "", url);
  else history.replaceState(state ?? history.state, "", url);
  notify();
}

/** Open a photo: a new step, or in place of the photo that is open. */
export function openInAddress(id) {
  const address = current(), isFirst = !address.has("photo");
  address.set("photo", id);
  goTo(address, isFirst, isFirst ? { opened: true } : null);
}

/** Close the open photo: one step back if it was opened on this page. */
export function closeInAddress() {
  const address = current();
  if (!address.has("photo")) return;
  if (history.state?.opened) {
    history.back();
    return;
  }
  address.delete("photo");
  goTo(address, false);
}

window.addEventListener("popstate", notify);
// A visitor who has signed in before keeps the token in the address; it must not be in an address that is sent to others.
if (location.search) history.replaceState(history.state, "", location.pathname + location.hash);
