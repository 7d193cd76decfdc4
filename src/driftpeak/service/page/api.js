// Requests to the service: they return the answer, or throw an error with the service's message.
import { askForToken, bearer } from "./token.js";

export class Refused extends Error {
  constructor(problem) {
    super(problem.detail);
    this.code = problem.code;
  }
}

// Returns the whole answer; by default, a request with a body is a POST. Asks for a token until one is accepted.
export async function request(path, { body, signal, method, accept = "application/json" } = {}) {
  const options = { method, signal, headers: { Accept: accept, ...bearer() } };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  const answer = await fetch(`api/${path}`, options);
  if (answer.ok) return answer;
  if (answer.status === 401) {
    await askForToken();
    return request(path, { body, signal, method, accept });
  }
  const problem = await answer.json().catch(() => ({ detail: `the service answered with status ${answer.status}` }));
  throw new Refused(problem);
}

export async function get(path, parameters = {}, signal) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined);
  const query = new URLSearchParams(given);
  const answer = await request(given.length ? `${path}?${query}` : path, { signal });
  return answer.json();
}

export async function remove(path, parameters) {
  return (await request(`${path}?${new URLSearchParams(parameters)}`, { method: "DELETE" })).json();
}

export async function post(path, body, signal) {
  return (await request(path, { body, signal })).json();
}
