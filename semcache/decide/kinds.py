"""Closed groups of things of which a question means exactly one: animals, colours, tools ...

Two texts that name different members of one group (each one that the other does not name) ask
different questions. Members of the groups marked `!` may not even be missing on one side. A
name list, not a lexicon of the language: what is not in it is left to the encoder. Knows
nothing of places (see `places`) and of names by capital letters (see `names`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from semcache.decide.marks import Found, Mark, forms

FAMILY = "kind"
PERSONS = frozenset(("patient!", "subject", "family", "sex"))
QUANTIFIERS = frozenset(("quantifier",))
THINGS: frozenset[str] | None = None
"""All groups that are neither persons nor quantifiers."""

# group: members separated by `;`, each with its written forms. Forms as in `marks.forms`.
_GROUPS = """
pet: dog+ puppy puppies 狗 狗狗 小狗; cat+ kitten+ 猫 猫咪; horse+ 马匹; rabbit+ 兔子; hamster+ 仓鼠; parrot+ 鹦鹉; goldfish 金鱼; cow+ 奶牛; pig+ 猪; sheep 羊; chicken+ 鸡; duck+ 鸭
patient!: pregnant pregnancy 孕妇 怀孕 孕期 妊娠 妊娠期; breastfeed~ nursing_mothers lactating 哺乳 哺乳期 喂奶
subject: newborn+ infant+ baby babies toddler+ 婴儿 宝宝 新生儿 幼儿; child children kid+ 儿童 小孩 孩子 小朋友; elderly seniors 老人 老年人; teenager+ teen+ 青少年; adult+ 成人 成年人 大人
family: son+ 儿子; daughter+ 女儿; wife wives 妻子 老婆; husband+ 丈夫 老公; mother+ mom mum 妈妈 母亲; father+ dad 爸爸 父亲; brother+ 哥哥 弟弟; sister+ 姐姐 妹妹; grandmother+ grandma 奶奶 外婆; grandfather+ grandpa 爷爷 外公; uncle+ 叔叔 舅舅; aunt+ 阿姨 姑姑; boss manager 老板 上司; colleague+ coworker+ 同事; neighbor+ neighbour+ 邻居; friend+ 朋友
sex: men man male+ boy+ 男 男性 男人 男士 男生 男孩; women woman female+ girl+ 女 女性 女人 女士 女生 女孩
colour: red 红色; green 绿色; blue 蓝色; yellow 黄色; black 黑色; white 白色; purple 紫色; pink 粉色; brown 棕色; grey gray 灰色; orange 橙色
season: spring 春天 春季; summer 夏天 夏季; autumn 秋天 秋季; winter 冬天 冬季
daypart: morning+ 早上 上午 早晨 清晨; afternoon+ 下午; evening+ 傍晚; night+ 夜里 夜间
meal: breakfast 早餐 早饭; lunch 午餐 午饭; dinner supper 晚餐 晚饭
compass: north northern 北; south southern 南; east eastern 东; west western 西
body: head+ 头; eye+ 眼睛; ear+ 耳朵; nose 鼻子; tooth teeth 牙 牙齿; throat 喉咙 嗓子; neck 脖子 颈; shoulder+ 肩膀; arm+ 胳膊; elbow+ 肘; wrist+ 手腕; hand+ 手; finger+ 手指; chest 胸; heart 心脏; lung+ 肺; liver 肝; kidney+ 肾; stomach 胃; spine 脊柱; waist 腰; hip+ 臀; leg+ 腿; knee+ 膝盖; ankle+ 脚踝; heel+ 脚跟; foot feet 脚; toe+ 脚趾; skin 皮肤; bone+ 骨头; muscle+ 肌肉; brain 大脑; jaw 下巴; tongue 舌头; butt buttocks 屁股; thyroid 甲状腺; breast+ 乳房 乳腺; uterus 子宫; prostate 前列腺
planet: mercury 水星; venus 金星; mars 火星; jupiter 木星; saturn 土星; uranus 天王星; neptune 海王星; moon 月球; sun 太阳
nature: planet+ 行星; country countries 国家; ocean+ 海洋; river+ 河流; mountain+ 山; lake+ 湖; city cities 城市; continent+ 大洲; island+ 岛
measure: area 面积; population 人口; volume 体积; height 高度 身高; weight 重量 体重; length 长度; width 宽度; depth 深度; speed 速度; age 年龄; price+ 价格; density 密度
transport: flight+ plane+ 航班 飞机; train+ 火车 高铁; bus buses 公交 大巴 汽车票; ferry ferries 轮船; taxi+ 出租车; bike+ bicycle+ 自行车; motorcycle+ 摩托车; subway metro 地铁
sport: football 足球; basketball 篮球; tennis 网球; golf 高尔夫; baseball 棒球; hockey 冰球; soccer; volleyball 排球; swimming 游泳; badminton 羽毛球
drink: coffee 咖啡; tea 茶; milk 牛奶; beer 啤酒; wine 红酒 葡萄酒; juice 果汁; water 水
grain: rice 米饭; bread 面包; pasta; noodles 面条; potato potatoes 土豆; oats 燕麦
meat: beef 牛肉; pork 猪肉; lamb 羊肉; fish 鱼肉; shrimp prawns 虾; turkey_breast
fruit: apple+ 苹果; banana+ 香蕉; grape+ 葡萄; pear+ 梨; peach peaches 桃子; mango mangoes 芒果; watermelon+ 西瓜; strawberry strawberries 草莓; durian 榴莲; pitaya dragon_fruit 火龙果; kiwi+ 猕猴桃; lemon+ 柠檬; orange_juice 橙子
card: debit_card+ 借记卡 储蓄卡; credit_card+ 信用卡; gift_card+ 礼品卡; prepaid_card+ 预付卡
account: savings 储蓄账户; checking current_account 活期; brokerage 券商
tax: income_tax 所得税 个税; property_tax 房产税; inheritance_tax estate_tax 遗产税; capital_gains 资本利得税; sales_tax vat 增值税; corporate_tax 企业所得税; stamp_duty 印花税
insurance: car_insurance auto_insurance 车险; health_insurance 医保 医疗保险; life_insurance 寿险 人寿保险; home_insurance; travel_insurance 旅行险; pension+ 养老保险; unemployment 失业保险
paper: passport+ 护照; visa+ 签证; id_card+ 身份证; driving_license driver_license drivers_license 驾照 驾驶证; birth_certificate+ 出生证明; residence_permit+ 居住证
contract: employment_contract+ 劳动合同; rental_agreement+ lease+ 租房合同 租赁合同; loan_agreement+ 借款合同; non_disclosure+ nda 保密协议; non_compete noncompete 竞业协议; will_and_testament 遗嘱; prenup prenuptial 婚前协议
credential: password+ 密码; username+ 用户名; pin_code; email+ 邮箱; phone_number+ 手机号
drug: ibuprofen 布洛芬; paracetamol acetaminophen 对乙酰氨基酚 扑热息痛; aspirin 阿司匹林; amoxicillin 阿莫西林; penicillin 青霉素; cephalosporin 头孢; metformin 二甲双胍; insulin 胰岛素; warfarin 华法林; naproxen 萘普生; diclofenac 双氯芬酸; prednisone 泼尼松; codeine 可待因; omeprazole 奥美拉唑; atorvastatin 阿托伐他汀; lisinopril; amlodipine 氨氯地平
cancer: breast_cancer 乳腺癌; lung_cancer 肺癌; colon_cancer 结肠癌; liver_cancer 肝癌; stomach_cancer 胃癌; prostate_cancer 前列腺癌; cervical_cancer 宫颈癌
hepatitis: 甲肝; 乙肝; 丙肝; 戊肝
disease: diabetes 糖尿病; asthma 哮喘; flu influenza 流感; cold_sore+; measles 麻疹; malaria 疟疾; tuberculosis 肺结核; hepatitis 肝炎; pneumonia 肺炎; arthritis 关节炎; gout 痛风; migraine+ 偏头痛; stroke 中风; depression 抑郁症; anemia anaemia 贫血; covid 新冠; hiv aids 艾滋病 艾滋; lupus 红斑狼疮; psoriasis 银屑病 牛皮癣; eczema 湿疹; gastritis 胃炎; bronchitis 支气管炎; rhinitis 鼻炎
exam: blood_test+ 抽血 验血; gastroscopy 胃镜; colonoscopy 肠镜; ct_scan+; mri 核磁共振; ultrasound 超声 B超; x_ray+; wisdom_tooth wisdom_teeth 智齿
language: python; java; javascript js; typescript; rust; golang; ruby; php; kotlin; swift; scala; perl; haskell; matlab; fortran; cobol; lua; julia
package: pandas; numpy; torch pytorch; tensorflow; scipy; polars; matplotlib; keras; jax; requests_library; flask; django; fastapi
runtime: linux; windows; macos mac_os osx; ubuntu; debian; centos; fedora; android 安卓; ios; iphone+ 苹果手机; ipad+; chromebook+; mac; wsl
browser: chrome; firefox; safari; edge_browser microsoft_edge; opera_browser
database: postgres postgresql; mysql; sqlite; mongodb mongo; redis; oracle_database; mariadb; sql_server mssql; cassandra; dynamodb; elasticsearch
cloud: aws amazon_web_services 亚马逊云; azure; gcp google_cloud 谷歌云; aliyun 阿里云; tencent_cloud 腾讯云; heroku; digitalocean
vcs: github; gitlab; bitbucket; gitee
javascript: react; vue; angular; svelte; nextjs; jquery
manager: npm; yarn; pnpm; pip; conda; poetry; cargo; maven; gradle; brew homebrew; apt; yum; dnf
shell: bash; zsh; powershell; fish_shell
dataformat: json; xml; yaml; csv; toml; parquet; html; markdown; latex
office: excel; powerpoint; google_sheets; google_docs; outlook; gmail; libreoffice
messenger: whatsapp; telegram; wechat 微信; slack; discord; zoom; microsoft_teams; qq; signal_app; 钉钉; 飞书
payment: paypal; alipay 支付宝; stripe; venmo; wechat_pay 微信支付; apple_pay; google_pay; cash_app; zelle
social: facebook; instagram; twitter; tiktok 抖音; youtube; linkedin; reddit; snapchat; weibo 微博; 小红书
shop: amazon 亚马逊; ebay; taobao 淘宝; 京东; aliexpress; walmart; 拼多多
company: google 谷歌; microsoft 微软; apple_inc; tesla 特斯拉; toyota 丰田; samsung 三星; huawei 华为; xiaomi 小米; nvidia 英伟达; amd; intel 英特尔; openai; anthropic; netflix; disney 迪士尼
structure: list+ 列表; array+ 数组; dictionary dictionaries dict+ 字典; string+ 字符串; tuple+ 元组; set_of; linked_list+ 链表
pay: salary wage+ 工资; bonus bonuses 奖金; overtime 加班费; severance 遣散费 补偿金
leave: sick_leave 病假; annual_leave vacation 年假; maternity_leave 产假; paternity_leave 陪产假; parental_leave 育儿假; unpaid_leave 事假; marriage_leave 婚假
org: individual+ 个人; company companies corporation+ business businesses 企业 公司; nonprofit+ charity charities 非营利
stage: undergraduate+ bachelor+ 本科; graduate+ master+ 硕士 研究生; phd doctoral 博士; high_school 高中; primary_school elementary 小学; kindergarten 幼儿园
plan: basic_plan 基础版; premium_plan premium 高级版; pro_plan 专业版; enterprise_plan enterprise 企业版; free_plan free_tier 免费版; family_plan 家庭版; student_plan 学生版
cook: bake~ oven 烤; boil~ 煮; fry fries fried frying 炸 炒; steam~ 蒸; grill~; microwave~ 微波
genre: poem+ 诗; essay+ 作文 文章; story stories 故事; song+ 歌; joke+ 笑话; speech speeches 演讲稿; letter+ 信; email_draft
quantifier: all every each 所有 全部 每个; some 有些 部分; any 任何; both 两者
dialogue: cover_letter+; resume+ cv 简历
"""


def entries() -> Iterator[tuple[str, Mark]]:
    """Yield the table: concept = group, member = its first form."""
    for line in _GROUPS.strip().split("\n"):
        group, _, members = line.partition(":")
        for member in members.split(";"):
            words = member.split()
            for word in words:
                for form in forms(word):
                    yield form, Mark(FAMILY, group, words[0])


def members(found: Sequence[Found]) -> dict[str, frozenset[str]]:
    """Give group -> members named in a text."""
    named: defaultdict[str, set[str]] = defaultdict(set)
    for item in found:
        named[item.mark.name].add(item.mark.member)
    return {group: frozenset(names) for group, names in named.items()}


def conflict(
    one: dict[str, frozenset[str]], other: dict[str, frozenset[str]], sort: frozenset[str] | None
) -> bool:
    """True when both texts name members of a group that the other does not name.

    `sort` says which groups count: `PERSONS`, `QUANTIFIERS`, or `THINGS` for all others.
    """
    nothing: frozenset[str] = frozenset()
    for group in {*one, *other}:
        if (group not in sort) if sort is not None else (group in PERSONS or group in QUANTIFIERS):
            continue
        left, right = one.get(group, nothing), other.get(group, nothing)
        if (left - right and right - left) or (group.endswith("!") and left != right):
            return True
    return False
