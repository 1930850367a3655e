// The page's side of the wire: the state of one person, kept fresh by server-sent events, and posts.
import { useCallback, useEffect, useRef, useState } from "./vendor/htm-preact.module.js";

const TROUBLE = "The workspace does not answer. Is it still running?";

/** Resolves when the server took it; rejects with the sentence it gave. */
async function post(path, body) {
  let answer;
  try {
    const response = await fetch(path, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    });
    answer = await response.json();
  } catch {
    throw new Error(TROUBLE);
  }
  if (!answer.ok) throw new Error(answer.error ?? "The workspace refused this without a reason.");
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
          const response = await fetch(`/ui/state?as=${encodeURIComponent(person)}`, { cache: "no-store" });
          const next = await response.json();
          if (mine.gone) return;
          if (!response.ok || !next.me) throw new Error(next.error ?? TROUBLE);
          setState(next);
          setOffline(false);
        } catch (error) {
          if (!mine.gone) setOffline(error instanceof TypeError ? TROUBLE : error.message);
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
    await post(path, { as: person, ...body });
    look.current.refresh();
  }, [person]);
  return { state: state?.me.id === person ? state : null, offline, send };
}
