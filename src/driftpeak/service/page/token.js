// The service's token, if it requires one: stored until the tab is closed, and never in an address.
import { make } from "./elements.js";

const KEPT = "driftpeak-token";
let asking = null;

export function bearer() {
  const token = sessionStorage.getItem(KEPT);
  return token === null ? {} : { Authorization: `Bearer ${token}` };
}

// Several requests may be refused at the same time; they wait for one dialog.
export function askForToken() {
  asking ??= ask().finally(() => { asking = null; });
  return asking;
}

function ask() {
  const refused = sessionStorage.getItem(KEPT) !== null;
  const field = make("input", { id: "token", type: "password", autocomplete: "off", required: true });
  const form = make(
    "form",
    { method: "dialog" },
    make("h2", {}, "A token is required"),
    make("p", { role: refused ? "alert" : null },
      refused ? "The token was refused. Enter the service's token." : "Ask the operator of the service for it."),
    make("label", { for: "token" }, "Token"),
    field,
    make("p", {}, make("button", { class: "main" }, "Continue")),
  );
  const dialog = make("dialog", { "aria-label": "A token is required" }, form);
  document.body.append(dialog);
  dialog.addEventListener("cancel", (event) => event.preventDefault()); // the page needs the token
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener("close", () => {
      sessionStorage.setItem(KEPT, field.value.trim());
      dialog.remove();
      done();
    });
  });
}
