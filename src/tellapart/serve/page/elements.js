/** Helpers of all parts of the page: elements, messages, requests to the API, numbers and times in words. */

export const byId = (id) => document.getElementById(id);

/** Make an element; text goes in as text, never as markup. */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Call the API; throws an Error with the server's message if the request fails. */
export async function request(url, options = {}) {
  let response;
  try {
    response = await fetch(url, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server cannot be reached.");
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(body.detail || `The server answered with status ${response.status}.`);
  return body;
}

export function showMessage(id, text, isProblem = false) {
  byId(id).textContent = text;
  byId(id).classList.toggle("problem", isProblem);
}

/** Show a text, or hide its element if there is none. */
export function showText(id, text) {
  byId(id).hidden = !text;
  byId(id).textContent = text || "";
}

export const photoUrl = (id) => `/api/photos/${encodeURIComponent(id)}`;
export const imageUrl = (id, size) => `${photoUrl(id)}/image?size=${size}`;
export const number = (count) => count.toLocaleString("en");
export const photoCount = (count) => `${number(count)} ${count === 1 ? "photo" : "photos"}`;

/** A day in words: "21 July 2019". */
export const dayInWords = (time) => new Date(time).toLocaleDateString("en-GB", { dateStyle: "long" });

/** A time in words: "today at 16:40", or "21 July 2019 at 16:40". */
export function timeInWords(time) {
  const clock = new Date(time).toLocaleTimeString("en-GB", { timeStyle: "short" });
  const isToday = new Date(time).toDateString() === new Date().toDateString();
  return `${isToday ? "today" : dayInWords(time)} at ${clock}`;
}
