/** Connects the parts of the page. */

import { startDialog } from "/dialog.js";
import { byId } from "/elements.js";
import { startIndexInfo } from "/index_info.js";
import { findSimilar, showMore, startResults } from "/results.js";
import { startSearchForm } from "/search_form.js";
import { startUploads } from "/uploads.js";

byId("skip").addEventListener("click", (event) => { event.preventDefault(); byId("results").focus(); });

startUploads();
startSearchForm();
startResults();
startDialog(findSimilar, () => showMore(true));
startIndexInfo();
