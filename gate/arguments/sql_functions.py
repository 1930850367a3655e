"""Functions in queries of SQL: whether a query calls one that is not known to only compute or look.

The names are those of the built-in functions of PostgreSQL, MySQL, SQLite, SQL Server, Oracle, BigQuery, Snowflake,
DuckDB and ClickHouse, without those that change something, wait, lock, or carry out a text as a statement.
"""

from __future__ import annotations

import re

OVER_ROWS = """
    any_value approx_count_distinct approx_distinct approx_percentile approx_quantile approx_quantiles
    approx_top_count arg_max arg_min argmax argmin array_agg avg avgif bit_and bit_or bit_xor bool_and bool_or
    checksum_agg corr count count_big count_distinct count_if countif covar_pop covar_samp cume_dist dense_rank
    every first first_value group_concat grouping grouping_id groupuniqarray grouparray json_agg json_arrayagg
    json_group_array json_group_object json_object_agg json_objectagg jsonb_agg jsonb_object_agg kurtosis lag last
    last_value lead list listagg logical_and logical_or max max_by maxif mean median min min_by minif mode nth_value
    ntile object_agg percent_rank percentile_cont percentile_disc quantile quantile_cont quantile_disc range_agg
    rank ratio_to_report regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
    row_number skewness std stddev stddev_pop stddev_samp stdev stdevp string_agg sum sumif total uniq uniqexact var
    var_pop var_samp variance varp xmlagg
"""
OF_TEXTS = """
    ascii base64 base64_decode base64_encode bin bit_length btrim char char_length character_length charindex chr
    code_points_to_string concat concat_ws contains contains_substr convert_from convert_to damerau_levenshtein
    decode difference edit_distance editdistance elt encode endswith ends_with field find_in_set format format_bytes
    from_base64 from_hex hex html_escape ilike initcap insertstr instr jaccard jaro_winkler_similarity lcase
    left leftpad length length_utf8 lengthb levenshtein like like_escape lower lowerutf8 lpad ltrim match md5 mid
    nchar normalize nlssort oct octet_length ord overlay parse_ident parse_ip parse_url parsename patindex position
    printf quote quote_ident quote_literal quote_nullable quotename regexp regexp_contains regexp_count
    regexp_extract regexp_extract_all regexp_full_match regexp_instr regexp_like regexp_match regexp_matches
    regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr repeat replace replaceall
    replaceregexpall replaceregexpone replicate reverse right rpad rtrim sha sha1 sha2 sha224 sha256 sha384 sha512
    similarity soundex space split split_part splitbychar splitbystring starts_with startswith str strcmp string
    string_escape string_split string_split_regex string_to_array string_to_table stringtosplit strleft strlen
    strpos strright stuff substr substring substring_index substrb substrutf8 tolower to_base64 to_hex toupper
    translate trim ts_headline ts_rank ts_rank_cd phraseto_tsquery plainto_tsquery to_tsquery to_tsvector
    websearch_to_tsquery ucase unaccent unhex unicode upper upperutf8 url_decode url_encode uuid_string
    weight_string word_similarity
"""
OF_NUMBERS = """
    abs acos acosd acosh asin asind asinh atan atan2 atan2d atand atanh bit_count bitand bitor bitshiftleft
    bitshiftright bitxor cbrt ceil ceiling conv cos cosd cosh cot cotd crc32 degrees div even exp factorial floor
    gcd greatest hash infinity intdiv isinf isnan lcm least ln log log10 log1p log2 min_scale mod modulo nanvl
    numeric_scale pi pow power radians rand random randomblob random_normal round rounddown roundup safe_divide
    scale sign sin sind sinh sqrt square tan tand tanh to_decimal to_double to_number trunc truncate trim_scale
    uniform width_bucket zeroblob zeroifnull
"""
OF_TIMES = """
    add_months adddate addtime age at clock_timestamp convert_timezone convert_tz curdate current_date
    current_datetime current_time current_timestamp curtime date date_add date_bin date_diff date_format date_part
    date_sub date_trunc dateadd datediff datediff_big datefromparts datename datepart datetime datetime2fromparts
    datetime_add datetime_diff datetime_sub datetime_trunc datetimefromparts day dayname dayofmonth dayofweek
    dayofyear eomonth epoch epoch_ms extract format_date format_datetime format_timestamp formatdatetime from_days
    from_unixtime fromunixtimestamp generate_date_array generate_timestamp_array get_format getdate getutcdate hour
    interval isfinite justify_days justify_hours justify_interval julian julianday last_day localtime localtimestamp
    make_date make_interval make_time make_timestamp make_timestamptz makedate maketime microsecond minute month
    monthname months_between next_day now numtodsinterval numtoyminterval parse_date parse_datetime parse_timestamp
    period_add period_diff quarter sec_to_time second statement_timestamp str_to_date strftime strptime subdate
    subtime switchoffset sysdate sysdatetime sysdatetimeoffset systimestamp sysutcdatetime time time_bucket
    time_format time_slice time_to_sec time_trunc timediff timefromparts timeofday timestamp timestamp_add
    timestamp_diff timestamp_micros timestamp_millis timestamp_seconds timestamp_sub timestamp_trunc timestampadd
    timestampdiff timezone to_date to_days to_seconds to_timestamp to_timestamp_tz todate today todatetime
    todatetimeoffset todayofweek tohour tomonday tomonth tostartofday tostartofhour tostartofinterval tostartofmonth
    tostartofweek tostartofyear toyear toyyyymm toyyyymmdd transaction_timestamp try_to_date try_to_timestamp
    unix_timestamp unixepoch utc_date utc_time utc_timestamp week weekday weekofyear year yearweek
"""
OF_OTHERS = """
    array array_append array_cat array_concat array_contains array_distinct array_except array_filter
    array_intersect array_join array_length array_lower array_map array_ndims array_overlap array_position
    array_positions array_prepend array_remove array_replace array_reverse array_size array_slice array_sort
    array_to_json array_to_string array_upper arrayjoin bitmap cardinality cast choose coalesce collate col_length
    col_name columns convert db_id db_name empty enum_first enum_last enum_range equal_null error_number explode
    flatten format_type generate_array generate_series generate_subscripts get get_path hstore iff if ifnull iif in
    inet_ntoa inet_aton inet6_aton inet6_ntoa is_array is_valid_json isdate isempty isjson isnull isnumeric json
    json_array json_array_elements json_array_elements_text json_array_length json_arraylength json_build_array
    json_build_object json_contains json_contains_path json_depth json_each json_each_text json_extract
    json_extract_array json_extract_path json_extract_path_text json_extract_scalar json_extract_string json_insert
    json_keys json_length json_object json_object_keys json_overlaps json_patch json_populate_record
    json_populate_recordset json_pretty json_query json_query_array json_quote json_remove json_replace json_search
    json_set json_strip_nulls json_table json_to_record json_to_recordset json_tree json_type json_typeof
    json_unquote json_valid json_value json_value_array jsonb jsonb_array_elements jsonb_array_elements_text
    jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text jsonb_exists
    jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_keys jsonb_path_exists
    jsonb_path_match jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_pretty jsonb_set
    jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof len likelihood likely list_contains list_value
    lower_inc lower_inf map map_keys map_values mapkeys mapvalues multiif not notempty nullif nullifzero
    num_nonnulls num_nulls nvl nvl2 object_construct object_id object_keys object_name openjson parse_json range
    regclass regtype row row_to_json safe_cast safe_offset schema_name seq4 set_agg struct struct_pack subscript
    table_info to_array to_binary to_boolean to_char to_clob to_json to_json_string to_jsonb to_object to_regclass
    to_regtype to_variant to_varchar todecimal64 tofloat64 toint32 toint64 tostring touint64 try_cast try_convert
    try_parse_json try_to_number tuple type_name typename typeof unlikely unnest upper_inc upper_inf uuid value
    xmlelement xmlforest xpath pragma_table_info pragma_table_list pragma_table_xinfo pragma_index_list
    pragma_index_info pragma_foreign_key_list changes last_insert_rowid sqlite_compileoption_used sqlite_version
    total_changes bm25 highlight snippet current_database current_catalog current_role current_schema
    current_schemas current_setting current_user connection_id col_description database found_rows
    has_column_privilege has_database_privilege has_schema_privilege has_table_privilege host_name inet_client_addr
    inet_server_addr lastval currval obj_description pg_backend_pid pg_column_size pg_conf_load_time
    pg_database_size pg_get_constraintdef pg_get_expr pg_get_functiondef pg_get_indexdef pg_get_partkeydef
    pg_get_serial_sequence pg_get_triggerdef pg_get_userbyid pg_get_viewdef pg_has_role pg_indexes_size
    pg_is_in_recovery pg_postmaster_start_time pg_relation_size pg_size_bytes pg_size_pretty pg_table_is_visible
    pg_table_size pg_total_relation_size pg_typeof row_count schema session_user shobj_description suser_name
    suser_sname system_user user user_name version gen_random_uuid uuid_generate_v4 newid
"""
TYPES = """
    bigint binary bit blob boolean bpchar bytea character date32 datetime64 decimal dec double enum enum8 enum16
    fixedstring float int integer int4range int8range daterange tsrange tstzrange numrange nclob number numeric
    nvarchar raw real set signed smallint text time64 timestamptz tinyint unsigned varbinary varchar varchar2
    varying without year zone nullable lowcardinality
"""
# Of PostGIS and its like, behind `st_`. Others change tables or a topology, read files, or take what they carry out, as
# that of each pixel, or the name of a table, as a text.
OF_SHAPES = """
    3darea 3dclosestpoint 3ddfullywithin 3ddistance 3ddwithin 3dextent 3dintersection 3dintersects 3dlength
    3dlineinterpolatepoint 3dlongestline 3dmakebox 3dmaxdistance 3dperimeter 3dshortestline addmeasure addpoint
    affine alphashape angle area area_sphere area_spheroid asbinary asencodedpolyline asewkb asewkt asgeobuf asgeog
    asgeojson asgeojsonfeature asgeom asgml ashexewkb ashexwkb asjpeg askml aslatlontext asmarc21 asmvt asmvtgeom
    aspect aspng asraster assvg astext astiff astwkb aswkb aswkt asx3d azimuth band bandmetadata bandnodatavalue
    bandpixeltype bdmpolyfromtext bdpolyfromtext boundary boundingdiagonal box2dfromgeohash buffer bufferpoint
    bufferwithtolerance buildarea centroid centroid_agg chaikinsmoothing cleangeometry clip clipbybox2d closestpoint
    closestpointofapproach clusterdbscan clusterintersecting clusterintersectingwin clusterkmeans clusterwithin
    clusterwithinwin collect collect_agg collectionextract collectionhomogenize combinebbox concavehull contains
    containsproperly convexhull convexhull_agg coorddim coverageinvalidedges coveragesimplify coverageunion
    coveredby covers cpawithin crosses curven curvetoline delaunaytriangles dfullywithin difference dimension
    disjoint distance distance_sphere distance_spheroid distancecpa distancesphere distancespheroid dump
    dumpaspolygons dumppoints dumprings dumpsegments dumpvalues dwithin dwithin_spheroid endpoint envelope
    envelope_agg equals equidistant expand extent extent_agg exteriorring filterbym flip flipcoordinates force2d
    force3d force3dm force3dz force4d forcecollection forcecurve forcepolygonccw forcepolygoncw forcerhr forcesfs
    frechetdistance generatepoints geogfromgeojson geogfromtext geogfromwkb geogpoint geogpointfromgeohash
    geogpolygonfromtext geographyfromtext geographyfromwkb geographyfromwkt geohash geohex_from_geom
    geomcollfromtext geometricmedian geometryfromtext geometryfromwkb geometryfromwkt geometryn geometrytype
    geomfromewkb geomfromewkt geomfromgeohash geomfromgeojson geomfromgml geomfromhexewkb geomfromhexwkb geomfromkml
    geomfrommarc21 geomfromtext geomfromtwkb geomfromwkb geomfromwkt geopoint_from_geom georeference geotransform
    hasarc hash hasisnanband hasm hasnoband hasz hausdorffdistance hausdorffdwithin height hexagon hexagongrid
    hillshade interiorringn interiorrings interpolatepoint interpolateraster intersection intersection_agg
    intersects intersects_extent isclosed iscollection iscoveragetile isempty isplanar ispoint ispolygonccw
    ispolygoncw isring issimple issolid isvalid isvaliddetail isvalidreason isvalidtrajectory knn largestemptycircle
    largesttriangle latfromgeohash latitude leftof length length2d length2dspheroid length_sphere length_spheroid
    letters line linecrossingdirection lineextend linefromencodedpolyline linefrommultipoint linefromtext
    linefromwkb lineinterpolatepoint lineinterpolatepoints linelocatepoint linemerge linestring linestringfromtext
    linestringfromwkb linesubstring linetocurve locatealong locatebetween locatebetweenelevations longestline
    longfromgeohash longitude m makebox2d makeemptyraster makeenvelope makeline makepoint makepointm makepolygon
    makevalid maxdistance maxdistance_sphere maximuminscribedcircle memsize metadata minconvexhull mindistance
    minimumboundingcircle minimumboundingradius minimumclearance minimumclearanceline minimumrotatedrectangle
    minkowskisum minpossiblevalue mlinefromtext mmax mmin mpointfromtext mpolyfromtext multi multilinefromtext
    multilinestringfromtext multipointfromtext multipolyfromtext multipolygonfromtext ndims nearestvalue node
    nodeidwithin normalize notsamealignmentreason npoints nrings numbands numcurves numgeometries numinteriorring
    numinteriorrings numpatches numpoints offsetcurve optimalalphashape orderingequals orientedenvelope overlaps
    patchn perimeter perimeter2d pixelascentroid pixelascentroids pixelaspoint pixelaspoints pixelaspolygon
    pixelaspolygons pixelheight pixelofvalue pixelwidth point point2d point3d point3dz point4d pointfromgeohash
    pointfromtext pointfromwkb pointinsidecircle pointm pointn pointonsurface points pointz pointzm polyfromtext
    polyfromwkb polygon polygonfromtext polygonfromwkb polygonize polyhedralsurface project quantizecoordinates
    rastertoworldcoord rastertoworldcoordx rastertoworldcoordy reclass reduceprecision relate relatematch
    removeirrelevantpointsforview removepoint removerepeatedpoints removesmallparts resample rescale resize reverse
    rotate rotatex rotatey rotatez rotation roughness s2cellidfrompoint s2cellidsfromgeog samealignment scale scalex
    scaley scroll segmentize setbandisnodata setbandnodatavalue seteffectivearea setpoint setscale setsrid setvalue
    setvalues shift_longitude shiftlongitude shortestline simplify simplifypolygonhull simplifypreservetopology
    simplifyvw skewx skewy slope snap snaptogrid split square squaregrid srid startpoint subdivide summary
    swap_ordinates swapordinates swapxy symdifference symmetricdifference tesselate tile tileenvelope touches tpi
    transform translate transscale tri triangulate2dz triangulatepolygon tripoint unaryunion union union_agg
    upperleftx upperlefty value voronoilines voronoipolygons width within wkbtosql wkttosql worldtorastercoord
    worldtorastercoordx worldtorastercoordy wrapx x x_max x_min xmax xmin y y_max y_min ymax ymin z z_max z_min zmax
    zmflag zmin
"""
# Words of the language behind which a bracket may stand, and which no function is called like
WORDS = """
    all and any as asc between case cross cube desc distinct distinctrow else end escape except exists filter for from
    full group having inner intersect into is join lateral left limit minus natural not offset on or order ordinality
    outer partition qualify regexp returning right rlike rollup sample select similar some table tablesample then to
    union using values when where window with xor range first last
"""
KNOWN = frozenset(
    " ".join((OVER_ROWS, OF_TEXTS, OF_NUMBERS, OF_TIMES, OF_OTHERS, TYPES, WORDS)).lower().split()
) | {f"st_{name}" for name in OF_SHAPES.split()}
OF_SYSTEM = ("pg_catalog.", "sys.", "information_schema.")
# What a bracket stands behind: a name, or the end of one in quotes
SIGNS = r"\s(),;=<>!+*/%|&~^?:'\"`\[\]{}-"
# A string before a bracket may be a name, but for one that begins there: r'(a|b)'
NAME_IN_QUOTES = r"(?<=\w)(?<!\b[bnrexBNREX])(?<!\b[brBR][brBR])'"
CALL = re.compile(rf"((?<![^{SIGNS}])[^{SIGNS}]+|[\"`\]}}]|{NAME_IN_QUOTES})\s{{0,90}}\(")
# Comments, and what stands behind a name in quotes: what is called is not next to the bracket
APART = re.compile(r"(?i)--|/\*|\buescape\b")
LINES = re.compile(r"[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]\s{0,90}\(|\n|#|//")
FAR = re.compile(r"\s{90}")  # behind so many blanks no bracket is looked for
MOST_UNKNOWN = 200  # brackets behind other names that are looked at; a query with more calls something
MOST_BEFORE = 300  # characters before a bracket that are looked at
ALIAS = re.compile(r"(?i)\bas\s{1,90}\Z")
# Words that are names of functions as well, behind those that they follow where they are none
PLACED = re.compile(
    r"(?i)(?:\b(?:(?:group|order|partition|cluster|sort|distribute|siblings)\s{1,90}by|fetch\s{1,90}next|"
    r"(?:table)?sample\s{1,90}(?:system|bernoulli|reservoir|block|row)|(?:use|force|ignore)\s{1,90}key|"
    r"(?:as|not)\s{1,90}materialized|as\s{1,90}of|(?:from|join)\s{1,90}only|grouping\s{1,90}sets|with\s{1,90}ties|"
    r"(?:select|distinct|all)\s{1,90}top|(?:cross|outer)\s{1,90}apply|nulls\s{1,90}over|"
    r"(?:explain|analyze|verbose)\s{1,90}(?:analyze|verbose)|"
    r"(?:select|distinct|all)\s{0,90}\*\s{0,90}exclude)|[.,]\s{0,90}\*\s{0,90}exclude|"
    r"\)\s{0,90}(?:analyze|verbose|over|repeatable|percent)|\d\s{1,90}percent|(?:\A|;)[\s(]{0,90}(?:explain|describe))\Z"
)
# With what PLACED and TURNED end: no other word is looked for with them
ENDS = frozenset(
    "analyze apply bernoulli block by describe exclude explain key materialized next of only over percent pivot "
    "repeatable reservoir row sets system ties top unpivot verbose".split()
)
# What rows are turned around behind: the name of a table, or a query in brackets
TURNED = re.compile(
    r"(?i)(?:\b(?!(?:select|distinct|all|from|join|where|and|or|not|on|by|having|when|then|else|case|in|as|is|like|between|"
    r"top|limit|offset|lateral|any|some|using|rlike|ilike|regexp|glob|match|mod|div|xor|exists|collate|binary|interval|prior|"
    r"union|except|intersect|minus|returning|distinctrow|straight_join|high_priority|sql_\w{1,30})\b)\w{1,90}\s{1,90}|[)\]\"`]\s{0,90})(?:un)?pivot\Z"
)
# A table of a WITH, and its columns
COLUMNS = re.compile(
    r"(?i)\([\w\s,]{0,500}\)\s{0,90}as\s{0,90}(?:(?:not\s{1,90})?materialized\s{0,90})?\(\s{0,90}(?:(?:select|with)\b|values\s{0,90}\()"
)


def calls_unknown_function(query: str) -> bool:
    """Whether a query of SQL, without what stands in quotes, calls a function that is not known to change nothing."""
    if FAR.search(query) or APART.search(query) or _ends_in_comment(query):
        return True
    unknown = 0
    for found in CALL.finditer(query):
        name = found[1].lower()
        for system in OF_SYSTEM:
            name = name.removeprefix(system)
        if name in KNOWN:
            continue
        unknown += 1
        if unknown > MOST_UNKNOWN or not (_is_placed(query, found) or _names_columns(query, found)):
            return True
    return False


def _is_placed(query: str, found: re.Match[str]) -> bool:
    """Whether what looks like the name of a function is a word of the language where it stands."""
    at = found.end(1)
    if found[1].lower() not in ENDS:
        return False
    before = query[at - MOST_BEFORE : at] if at > MOST_BEFORE else query[:at]
    whole = before if at <= MOST_BEFORE else f"x{before}"  # which is no beginning
    return bool(PLACED.search(whole) or TURNED.search(whole))


def _ends_in_comment(query: str) -> bool:
    """Whether a bracket begins a line, behind one with what some dialects read as a comment up to its end."""
    commented = False
    for found in LINES.finditer(query):
        if commented and found[0].endswith("("):
            return True
        commented = found[0] in ("#", "//")
    return False


def _names_columns(query: str, found: re.Match[str]) -> bool:
    """Whether what looks like a call gives names to the columns of a table."""
    before = query[max(0, found.start() - 100) : found.start()]
    return bool(ALIAS.search(before) or COLUMNS.match(query, found.end() - 1))
