"""Word lists of Penn Treebank tokenisation: abbreviations, and words that start a sentence."""

# Abbreviations that keep their full stop. First list: a capital after them starts a new sentence.
SENTENCE_FINAL_ABBREVIATIONS = (
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thurs fri "
    "ala ariz Az Ark calif colo conn ct dak Del fla ga Ill ind kan kans ky La Mass md mich minn Miss mo mont neb nev "
    "okla Ore Pa penn tenn Tex va vt Wash wis wisc wyo inc co cos corp ltd plc rt bancorp bhd assn univ intl sys "
    "tel est ext sq jr sr bros ed.d ph.d blvd rd esq etc al seq bldg"
)
# Second list: mostly before a capital, so never at a sentence's end.
INNER_ABBREVIATIONS = (
    "mr mrs ms Miss dr drs prof profs sen sens rep reps atty attys lt col gen messrs gov govs adm rev maj sgt cpl pvt "
    "capt st ste ave pres lieut hon brig cmdr comdr pfc spc supt supts det mt ft adj adv asst assoc ens insp mlle mme "
    "msgr sfc vs alex wm jos cie a.k.a cf treas ph invt elec natl mfg mtg dept"
)
SENTENCE_STARTERS = (
    "About According Additionally After An A As At But Earlier He Her Here However If In It Last Many More Mr. Ms. "
    "Now Once One Other Our She Since So Some Such That The Their Then There These They This We When While What Yet You"
)
