// Where one is and as whom, kept in the address so that it can be reloaded, shared and opened twice.
import { useEffect, useState } from "./vendor/htm-preact.module.js";

const FIRST_PERSON = "U_ANN";
export const HOME = "home";

/** Reads /?as=U_ANN#CHANNEL/THREAD, or a message's permalink /archives/CHANNEL/pTS. */
function readAddress() {
  const query = new URLSearchParams(location.search);
  const [, linked, ts] = location.pathname.match(/^\/archives\/(\w+)\/p(\d+)$/) ?? [];
  const [channel, thread] = decodeURIComponent(location.hash.slice(1)).split("/");
  return {
    person: query.get("as") || FIRST_PERSON,
    channel: channel || linked,
    thread: thread || query.get("thread_ts") || ts?.replace(/(\d{6})$/, ".$1") || null,
  };
}

export function addressOf({ person, channel, thread }) {
  const room = channel ? `#${channel}${thread ? `/${thread}` : ""}` : "";
  return `/?as=${encodeURIComponent(person)}${room}`;
}

/** [{person, channel, thread}, go]: `go` changes some of them and leaves a step in the browser's history. */
export function usePlace() {
  const [place, setPlace] = useState(readAddress);
  useEffect(() => {
    const back = () => setPlace(readAddress());
    window.addEventListener("popstate", back);
    return () => window.removeEventListener("popstate", back);
  }, []);
  const go = (change) => {
    const next = { ...readAddress(), ...change };
    history.pushState(null, "", addressOf(next));
    setPlace(next);
  };
  return [place, go];
}

/** A plain click moves inside the page; with a modifier the browser opens a window as always. */
export function follow(event, move) {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  event.preventDefault();
  move();
}
