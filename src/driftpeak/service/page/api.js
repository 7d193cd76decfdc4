// Requests to the service: what they answer, or an error in its words.
import { askForToken, bearer } from "./token.js";

export class Refused extends Error {
  constructor(problem) {
    super(problem.detail);
    this.code = problem.code;
  }
}

// The whole answer; a body makes it a change. Asks for a token until one is taken.
export async function request(path, { body, signal, accept = "application/json" } = {}) {
  const options = { signal, headers: { Accept: accept, ...bearer() } };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  const answer = await fetch(`api/${path}`, options);
  if (answer.ok) return answer;
  if (answer.status === 401) {
    await askForToken();
    return request(path, { body, signal, accept });
  }
  const problem = await answer.json().catch(() => ({ detail: `the service answered ${answer.status}` }));
  throw new Refused(problem);
}

export async function get(path, parameters = {}, signal) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined);
  const query = new URLSearchParams(given);
  const answer = await request(given.length ? `${path}?${query}` : path, { signal });
  return answer.json();
}

export async function post(path, body, signal) {
  return (await request(path, { body, signal })).json();
}
