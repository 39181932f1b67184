// The page: ?room=lobby&name=Ada, or it asks.

import { createClient } from "./client/browser.mjs";

const $ = (id) => document.getElementById(id);
const query = new URLSearchParams(location.search);
const roomName = query.get("room") || "lobby";
const name = query.get("name") || prompt("Your name?") || `guest ${Math.floor(Math.random() * 1000)}`;

const { rooms } = await (await fetch("config.json")).json();
const room = createClient(rooms).room.getOrCreate(roomName).connect({ name });

$("room").textContent = `#${roomName}`;
room.onStatusChange((status) => {
  $("status").textContent = status;
});
room.onError((error) => {
  $("status").textContent = error.message;
});
room.on("said", show);
room.on("present", here);
// Each time: what was missed while the connection was away is in the history.
room.onOpen(async () => {
  try {
    const messages = await room.history();
    $("messages").replaceChildren();
    seen.clear();
    for (const message of messages) show(message);
    here(await room.present());
  } catch (error) {
    $("status").textContent = error.message;
  }
});

document.querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = $("text").value;
  $("text").value = "";
  try {
    await room.say(text);
  } catch (error) {
    $("text").value = text;
    $("status").textContent = error.message;
  }
});

const seen = new Set();

/** The history and an event may bring the same message. */
function show({ id, author, text, at }) {
  if (seen.has(id)) return;
  seen.add(id);
  const item = document.createElement("li");
  const who = document.createElement("b");
  who.textContent = author;
  item.title = new Date(at).toLocaleString();
  item.append(who, text);
  $("messages").append(item);
  item.scrollIntoView();
}

function here(names) {
  $("present").textContent = `Here: ${names.join(", ")}`;
}
