import { keepDrafts } from "./drafts";
import { listenForKeys } from "./keys";
import { mountLive } from "./live/page";
import { mountAll } from "./mount";
import { mountRefresh } from "./refresh";
import { sendOnce } from "./sending";
import { mountTrial } from "./trial";
import { mountUpload } from "./upload";
import { mountWaterfall } from "./waterfall/page";

document.documentElement.classList.add("js");
keepDrafts();
sendOnce();
listenForKeys(document);
mountAll(document, { waterfall: mountWaterfall, live: mountLive, refresh: mountRefresh, trial: mountTrial, upload: mountUpload });
