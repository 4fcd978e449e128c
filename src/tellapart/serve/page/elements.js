/** Helpers of all parts of the page: elements, messages and requests to the API. */

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

export const imageUrl = (id, size) => `/api/photos/${id}/image?size=${size}`;
export const photoCount = (count) => `${count} ${count === 1 ? "photo" : "photos"}`;
