// The page's side of the wire: the state of one person, kept fresh by server-sent events, and posts.
import { useCallback, useEffect, useRef, useState } from "./vendor/htm-preact.module.js";

const TROUBLE = "The workspace does not answer. Is it still running?";

/** The JSON of an answer; a refusal's own words, or TROUBLE, as the error. */
async function ask(path, options) {
  const response = await fetch(path, { cache: "no-store", ...options }).catch(() => { throw new Error(TROUBLE); });
  if (!response.ok) throw new Error((await response.text()) || TROUBLE);
  return response.json();
}

/** This tab, also after a reload: a dialog opens in the tab that asked for it. */
function tabId() {
  const kept = sessionStorage.getItem("tab") ?? crypto.getRandomValues(new Uint32Array(2)).join("-");
  sessionStorage.setItem("tab", kept);
  return kept;
}
const TAB = tabId();

/** Resolves with the answer when the server took it; rejects with the sentence it gave. */
async function post(path, body) {
  const answer = await ask(path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(answer.error ?? "The workspace refused this without a reason.");
  return answer;
}

/**
 * What `person` sees: {state, offline, send}. `send(path, body)` posts as that person and then looks again.
 * Changes that arrive while a look is under way cause exactly one more look.
 */
export function useWorkspace(person) {
  const [state, setState] = useState(null);
  const [offline, setOffline] = useState(false);
  const look = useRef({});

  useEffect(() => {
    const mine = { running: false, again: false, gone: false };
    look.current = mine;
    mine.refresh = async () => {
      if (mine.running) { mine.again = true; return; }
      mine.running = true;
      do {
        mine.again = false;
        try {
          const next = await ask(`/ui/state?as=${encodeURIComponent(person)}&tab=${TAB}`);
          if (mine.gone) return;
          setState(next);
          setOffline(false);
        } catch (error) {
          if (!mine.gone) setOffline(error.message);
        }
      } while (mine.again && !mine.gone);
      mine.running = false;
    };
    const events = new EventSource(`/ui/events?as=${encodeURIComponent(person)}`);
    events.onmessage = mine.refresh;
    events.onopen = mine.refresh;
    events.onerror = () => setOffline(TROUBLE);
    mine.refresh();
    return () => { mine.gone = true; events.close(); };
  }, [person]);

  const send = useCallback(async (path, body) => {
    try {
      return await post(path, { as: person, tab: TAB, ...body });
    } finally {
      look.current.refresh();
    }
  }, [person]);
  return { state: state?.me.id === person ? state : null, offline, send };
}
