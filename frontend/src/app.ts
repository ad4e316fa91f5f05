import { keepDrafts } from "./drafts";
import { listenForKeys } from "./keys";
import { mountLive } from "./live/page";
import { mountAll } from "./mount";
import { mountPasskey } from "./passkeys";
import { mountRefresh } from "./refresh";
import { reachFrames } from "./scrolling";
import { sendOnce } from "./sending";
import { mountTrial } from "./trial";
import { mountUpload } from "./upload";
import { mountWall } from "./wall";
import { mountWaterfall } from "./waterfall/page";

document.documentElement.classList.add("js");
keepDrafts();
sendOnce();
listenForKeys(document);
keepOnce();
reachFrames(document);
mountAll(document, { waterfall: mountWaterfall, live: mountLive, refresh: mountRefresh, trial: mountTrial, upload: mountUpload, passkey: mountPasskey, wall: mountWall });

/** What is shown once is made once: who loads its page anew gets the list that it belongs to, and no further one. */
function keepOnce(): void {
  const place = document.querySelector<HTMLElement>("[data-once]")?.dataset["once"];
  if (place) history.replaceState(null, "", place);
}
