"""Opposites: pairs of meanings where one text has one side and the other text the other.

A flip needs both sides present, each in one text only, so a word that merely is missing never
counts. That makes a generous table safe. Knows nothing of negation (see `negation`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from semcache.decide.marks import Found, Mark, forms
from semcache.decide.wordlist import split

FAMILY = "pole"
_PHRASAL_REACH = 4
_OPPOSITE, _DIRECTION, _DEGREE = "o", "d", "m"

# One pair of opposites a line. See `marks.forms` for `~`, `+` and `_`.
_PAIRS = """
expired outdated 过期 | valid current unexpired 有效
resign~ resignation 辞职 主动离职 | dismissed laid_off sacked 辞退 被辞退 被开除 裁员
开空调 开灯 开窗 开门 开电视 开暖气 开火 开店 开机 开车门 开盖 | 关空调 关灯 关窗 关门 关电视 关暖气 关火 关店 关机 关车门 关盖
加好友 拉群 | 删好友 踢人 退群
入党 入团 入会 入职 入学 入院 | 退党 退团 退会 离职 退学 出院
借钱 借款 | 还钱 还款
借给 | 借来 向别人借
赢 | 输
upgrade~ 升级 | downgrade~ 降级
zoom_in 放大 | zoom_out 缩小
inflate~ 充气 打气 | deflate~ 放气
tighten~ 拧紧 收紧 | loosen~ 拧松 放松
promote~ promotion+ 提拔 晋升 | demote~ demotion+ 降职
assemble~ 组装 装配 | disassemble~ dismantle~ take_apart 拆卸 拆解 拆开
start~ found~ set_up launch~ 成立 开办 创办 | close~ shut dissolve~ wind_up 关停 解散
file~ lodge~ submit~ 提交 提起 申请 | withdraw withdraws withdrawing withdrew retract~ 撤回 撤销 撤诉
accept~ 接受 | decline~ refuse~ 谢绝 婉拒
pick_up | drop_off
check_in 办理入住 | check_out 办理退房
turn_up | turn_down
scroll_up 向上滚动 | scroll_down 向下滚动
sign_up register~ registration 注册 | sign_out deregister~ unregister~ 注销
enroll~ enrol~ | drop_out
obey~ comply comply_with 遵守 | disobey~ violate~ break_the_rules 违反
trust~ | distrust~ mistrust~
attract~ 吸引 | repel~ deter~ 驱赶 排斥
absorb~ 吸收 | release~ emit~ 释放 排放
melt~ 融化 熔化 | freeze freezes freezing frozen solidify 凝固 结冰
evaporate~ evaporation 蒸发 | condense~ condensation 凝结 冷凝
float~ 漂浮 | sink sinks sinking sank sunk 下沉
ascend~ climb~ 上山 爬升 | descend~ 下山 下降
multiply multiplies multiplied multiplying multiplication 乘 乘法 | divide~ division 除 除法
add~ addition plus 加法 | subtract~ subtraction minus 减法
integrate~ integral 积分 | differentiate~ derivative 微分 导数
encrypt~ | decrypt~
hire~ | fire~
whitelist~ allowlist~ 白名单 | blacklist~ blocklist~ denylist~ 黑名单
publish~ 发布 上架 | unpublish~ 下架
archive~ 归档 | unarchive~ restore~ 取消归档
pin~ 置顶 | unpin~ 取消置顶
tag~ | untag~
link~ 关联 | unlink~ 取消关联
check~ tick~ 勾选 | uncheck~ untick~ 取消勾选
select~ 选中 | deselect~ unselect~ 取消选择
indent~ 缩进 | unindent~ outdent~ dedent~
comment_out 注释掉 | uncomment~ 取消注释
commit~ 提交 | revert~ rollback roll_back undo 回滚 还原
deploy~ 部署 上线 | undeploy~ 下线
start_server boot~ 开机 | shut_down shutdown power_off 关机
charge~ 充电 | discharge~ drain~ 放电
pressurize~ | depressurize~
vaccinated 已接种 打过疫苗 | unvaccinated 未接种 没打疫苗
insured 有保险 | uninsured 没保险
married 已婚 | single unmarried unwed 未婚 单身
employed 在职 | unemployed 失业
pregnant 怀孕 | contraception birth_control contraceptive+ 避孕
fertile | infertile infertility 不孕
constipation 便秘 | diarrhea diarrhoea 腹泻 拉肚子
overweight obese obesity 超重 肥胖 | underweight 偏瘦 体重过轻
hyperactive 亢进 | hypoactive 减退
vasodilation | vasoconstriction
agonist+ 激动剂 | antagonist+ 拮抗剂
antigen+ 抗原 | antibody antibodies 抗体
artery arteries 动脉 | vein+ 静脉
inpatient+ 住院 | outpatient+ 门诊
prescription 处方药 | over_the_counter otc 非处方药
brand_name 原研药 | generic 仿制药
defense defence defensive 防守 防御 | offense offensive attack~ 进攻 攻击
powerful | powerless
hopeful | hopeless
useful helpful | useless unhelpful
careful | careless reckless
profit_making for_profit 营利 | nonprofit non_profit not_for_profit 非营利
bullish bull_market 牛市 看涨 做多 | bearish bear_market 熊市 看跌 做空
call_option+ 看涨期权 | put_option+ 看跌期权
long_term 长期 | short_term 短期
fixed 固定 | variable floating adjustable 浮动 可变
secured 有抵押 | unsecured 无抵押
prepaid 预付 | postpaid 后付
wholesale 批发 | retail 零售
import_tax | export_tax
taxable 应税 | nontaxable tax_exempt 免税
deductible 可抵扣 | nondeductible non_deductible 不可抵扣
refundable 可退 | nonrefundable non_refundable 不可退
voluntary 自愿 | involuntary forced 被迫 强制
civil 民事 | criminal 刑事
guilty 有罪 | innocent not_guilty 无罪
majority | minority
sole_custody | joint_custody
resident | nonresident non_resident
emigrate~ emigration 移居国外 | immigrate~ immigration 移民入境
enter_country entry 入境 | exit_country 出境
domestic_flight | international_flight
one_way 单程 | round_trip return_ticket 往返
nonstop direct_flight 直飞 | connecting_flight layover 转机
economy_class 经济舱 | business_class first_class 商务舱 头等舱
aisle 过道 靠走道 | window_seat 靠窗
smoking 吸烟 | non_smoking smoke_free 无烟 禁烟
vegetarian 素食 | meat_dish 荤菜
gluten | gluten_free 无麸质
spicy 辣 | mild 不辣
alcoholic | nonalcoholic non_alcoholic 无酒精
day daytime 白天 | night nighttime 夜里 晚上
sunrise dawn 日出 | sunset dusk 日落
high_tide 涨潮 | low_tide 退潮
wired 有线 | wireless 无线
analog analogue 模拟 | digital 数字
hardware 硬件 | software 软件
client_side 客户端 | server_side 服务端
read_only 只读 | read_write writable 可写
stateless 无状态 | stateful 有状态
compile_time 编译时 | runtime_error run_time 运行时
statically | dynamically
inner_join 内连接 | outer_join 外连接
left_join 左连接 | right_join 右连接
depth_first 深度优先 | breadth_first 广度优先
stack+ 栈 | queue+ 队列
push_to | pop_from
supervised 监督学习 | unsupervised 无监督
overfit~ overfitting 过拟合 | underfit~ underfitting 欠拟合
precision 精确率 | recall 召回率
numerator 分子 | denominator 分母
clockwise 顺时针 | counterclockwise anticlockwise 逆时针
concave 凹 | convex 凸
acid acidic 酸性 | alkaline base_solution basic 碱性
endothermic 吸热 | exothermic 放热
anode 阳极 正极 | cathode 阴极 负极
prokaryote+ 原核 | eukaryote+ 真核
herbivore+ 食草 | carnivore+ 食肉
nocturnal 夜行 | diurnal 昼行
deciduous 落叶 | evergreen 常绿
annual_plant | perennial+ 多年生
solo single_player 单人 单机 | multiplayer co_op 多人 联机
victory 胜利 | defeat 失败
hero heroes 英雄 | villain+ 反派
friend_request 加好友 | unfriend~ 删好友
compliment~ praise~ 表扬 赞美 | insult~ criticize~ criticise~ criticism 批评 侮辱
forgive forgives forgiving forgave 原谅 | blame~ 责怪
encouraging | discouraging
lengthen~ | shorten~
widen~ 加宽 | narrow~ 变窄
deepen~ | shallow
brighten~ 调亮 | dim dims dimming darken~ 调暗
louder 大声 | quieter 小声
sharpen~ 磨 | blunt~
wrap~ pack~ 打包 | unwrap~ unpack~ 拆包
fold~ 折叠 | unfold~ 展开
plug~ | unplug~
cover~ 盖上 | uncover~ 揭开
dress~ put_on 穿 | undress~ take_off 脱
wake_up 起床 | fall_asleep go_to_sleep 入睡 睡着
sit_down 坐下 | stand_up 站起来
lie_down | get_up
speak_up | shut_up
enable~ activate~ turn_on switch_on put_on 启用 启动 打开 开启 开通 激活 | disable~ deactivate~ turn_off switch_off shut_off 禁用 停用 关闭 关掉 关上 注销
open~ reopen~ 开户 开门 营业 | close~ shut shuts shutting 销户 关门 打烊 歇业
log_in sign_in login logon 登录 登入 | log_out sign_out log_off sign_off logout logoff 登出 退出登录 退登
allow~ permit~ permitted permitting authorize~ authorise~ unblock~ 允许 准许 可以带 | block~ forbid forbids forbidden forbidding ban~ prohibit~ disallow~ deny~ 禁止 不准 屏蔽 拦截 封禁
admit~ let_in welcome~ | turn_away refuse_entry
accept~ 接受 同意 | decline~ reject~ refuse~ turn_down 拒绝 拒收
approve~ approval 批准 通过 | reject~ disapprove~ 驳回 拒批
grant~ 授予 授权 | revoke~ withdraw_consent 撤销 收回 吊销
increase~ raise~ boost~ grow grows growing rise rises rising rose go_up goes_up higher greater 增加 提高 上升 增大 上涨 涨价 升高 调高 加快 | decrease~ reduce~ reduction lower~ drop~ cut cuts cutting fall falls falling fell go_down goes_down lessen~ 减少 降低 下降 减小 下跌 降价 调低 放慢
expand~ enlarge~ 扩大 放大 扩张 展开 | shrink shrinks shrinking collapse~ 缩小 收缩 折叠 收起
strengthen~ 加强 增强 | weaken~ 减弱 削弱
speed_up accelerate~ | slow_down decelerate~
improve~ better 改善 变好 好转 | worsen~ worse deteriorate~ 恶化 变差 加重
gain~ 增重 增肥 长胖 | lose loses losing lost 减重 减肥 瘦身
win wins winning won 赢 胜诉 | lose loses losing lost 输 败诉
include~ including inclusive 包括 包含 含 带 | exclude~ excluding exclusive 不包括 不含 不带 除外
buy buys buying bought purchase~ buyer+ 买 购买 买入 购入 买家 | sell sells selling sold seller+ 卖 出售 卖出 卖家
borrow~ borrower+ 借入 借款人 | lend lends lending lent lender+ 借出 贷款人
deposit~ pay_in 存款 存入 存钱 | withdraw withdraws withdrawing withdrew withdrawal+ 取款 提现 取出 取钱 支取
debit~ | credit~
import~ 导入 进口 | export~ 导出 出口
upload~ 上传 | download~ 下载
add~ append~ insert~ 添加 新增 加入 插入 | remove~ delete~ erase~ drop~ 删除 移除 去掉 删掉
create~ 创建 新建 建立 | delete~ destroy~ 删除 销毁
install~ 安装 | uninstall~ 卸载
subscribe~ opt_in 订阅 | unsubscribe~ opt_out 退订 取消订阅
follow~ 关注 | unfollow~ 取关 取消关注
book~ reserve~ 预订 预约 预定 下单 | cancel~ cancelling cancelled cancellation 取消 退订
renew~ renewal 续费 续订 续签 | cancel~ cancelling cancelled cancellation terminate~ termination 取消 终止
hire~ recruit~ 招聘 雇用 录用 入职 | fire~ dismiss~ lay_off 解雇 辞退 开除 离职
join~ enter~ enrol~ enroll~ 加入 进入 入会 | leave leaves leaving exit~ quit quits quitting 退出 离开 退会
start~ begin begins beginning began starting commence~ launch~ 开始 启动 起始 | stop~ end~ finish~ cease~ terminate~ 结束 停止 终止 截止
pause~ 暂停 | resume~ unpause~ 恢复 继续
lock~ 锁定 上锁 锁上 | unlock~ 解锁 开锁
freeze freezes freezing froze frozen 冻结 冷冻 | unfreeze thaw~ defrost~ 解冻
mute~ 静音 禁言 | unmute~ 取消静音
hide hides hiding hidden 隐藏 | show~ shown unhide 显示
connect~ plug_in pair~ 连接 接通 绑定 | disconnect~ unplug~ unpair~ 断开 解绑
attach~ mount~ 挂载 | detach~ unmount~ 卸载
encrypt~ encryption 加密 | decrypt~ decryption 解密
encode~ encoding 编码 | decode~ decoding 解码
serialize~ serialise~ 序列化 | deserialize~ deserialise~ 反序列化
compress~ zip~ 压缩 | decompress~ unzip~ extract~ 解压 解压缩
push~ 推送 | pull~ 拉取
send~ sends sent sender+ 发送 寄出 发件人 寄 | receive~ recipient+ receiver+ 接收 收到 收件人 收
read~ 读取 读 | write writes writing wrote written 写入
input+ 输入 | output+ 输出
load~ 装载 加载 | unload~ 卸载 卸货
fill~ 填满 | empty empties emptying emptied 清空
inhale~ 吸气 | exhale~ 呼气
arrive~ arrival+ 到达 抵达 到站 | depart~ departure+ leave leaves leaving 出发 离开 发车 起飞
check_in 入住 值机 | check_out 退房
inbound incoming 进站 入站 转入 入境 | outbound outgoing 出站 转出 出境
ascending 升序 从小到大 递增 正序 | descending 降序 从大到小 递减 倒序
first 第一 首个 最先 | last final 最后 末尾
big large huge 大型 大号 | small tiny little 小型 小号
good 好处 优点 益处 优势 利 | bad 坏处 缺点 害处 劣势 弊
pros advantage+ benefit+ upside+ strength+ 优点 优势 好处 | cons disadvantage+ drawback+ downside+ weakness weaknesses shortcoming+ 缺点 劣势 坏处 弊端
inside indoor indoors within internal inner interior 里面 室内 内部 以内 境内 国内 | outside outdoor outdoors external outer exterior 外面 室外 户外 外部 以外 境外 国外
left leftmost 左 左边 左侧 左眼 左手 左腿 | right rightmost 右 右边 右侧 右眼 右手 右腿
front forward forwards 前面 前排 前门 向前 | back rear backward backwards reverse~ 后面 后排 后门 向后
frontend front_end 前端 | backend back_end 后端
horizontal horizontally 水平 横向 | vertical vertically 垂直 纵向
row+ 行 | column+ 列
uppercase capital_letters 大写 | lowercase 小写
prefix prefixes 前缀 | suffix suffixes 后缀
public publicly 公开 公立 公有 | private privately 私有 私立 私密
legal legally lawful 合法 | illegal illegally unlawful 非法 违法 犯法
valid validity 有效 生效 | invalid void 无效 失效 作废
possible 可能 | impossible 不可能 infeasible
safe safely 安全 | unsafe dangerous harmful risky 危险 有害 不安全
true 真 真的 | false fake 假 假的
correct 正确 | incorrect wrong 错误
positive 正数 阳性 正面 | negative 负数 阴性 负面
odd 奇数 单数 | even 偶数 双数
mandatory compulsory obligatory required require~ 强制 必须 必填 | optional voluntary 可选 自愿 选填
liable subject_to taxable owe~ 应缴 需要缴纳 缴纳 应税 要交 | exempt exemption+ tax_free 免缴 免税 免征 豁免 免交
full_time fulltime 全职 | part_time parttime 兼职
temporary temporarily 临时 暂时 短期 | permanent permanently 永久 长期
online remote remotely 线上 网上 远程 在线 | offline in_person onsite in_store 线下 现场 柜台 离线 门店
sync synchronous synchronously 同步 | async asynchronous asynchronously 异步
static 静态 | dynamic dynamically 动态
mutable 可变 | immutable 不可变
local locally 本地 | global globally 全局 全球
absolute 绝对 | relative 相对
formal formally 正式 | informal informally casual casually 非正式 口语
short shortly | long lengthy
singular 单数 | plural 复数
simple simplified simplify~ 简单 简化 | complex complicated advanced 复杂 高级
beginner+ novice+ 初学者 新手 入门 | expert+ advanced professional+ 专家 高级 进阶
income revenue+ earn~ earnings 收入 进账 | expense+ spending expenditure+ spend spends spent 支出 花费 开销
profit+ 利润 盈利 | loss losses 亏损
asset+ 资产 | liability liabilities 负债
surplus 盈余 顺差 | deficit+ 赤字 逆差
gross 税前 毛利 | net 税后 净利
多吃 | 少吃
cause~ trigger~ 引起 导致 造成 | prevent~ prevention cure~ treat~ treatment+ 预防 治疗 防止
symptom+ sign+ 症状 | treatment+ treat~ cure~ prevention prevent~ 治疗 预防 治法
promote~ 促进 升职 | inhibit~ demote~ 抑制 降职
marry~ marriage wedding 结婚 婚礼 | divorce~ 离婚
born birth 出生 诞生 | die dies died dying death dead 去世 死亡 死
alive living 活 | dead deceased 死
healthy 健康 | sick unhealthy ill 生病 不健康
benign 良性 | malignant 恶性
acute 急性 | chronic 慢性
hypertension | hypotension
hyperglycemia hyperglycaemia | hypoglycemia hypoglycaemia
hyperthyroidism 甲亢 | hypothyroidism 甲减
hyperthermia | hypothermia
systolic 收缩压 高压 | diastolic 舒张压 低压
adult+ grown_up grown_ups 成人 成年人 大人 | child children kid+ minor+ infant+ toddler+ baby babies 儿童 小孩 孩子 未成年人 婴儿
buyer+ customer+ 买家 买方 | seller+ merchant+ vendor+ 卖家 卖方 商家
employer+ 雇主 用人单位 | employee+ worker+ 员工 雇员 劳动者
landlord+ lessor+ 房东 | tenant+ lessee+ renter+ 租客 租户 房客
plaintiff+ 原告 | defendant+ 被告
teacher+ professor+ 老师 | student+ pupil+ 学生
doctor+ physician+ 医生 | patient+ 病人 患者
majority 多数 | minority 少数
upstream 上游 | downstream 下游
ancestor+ 祖先 | descendant+ 后代
wet 湿 潮湿 | dry 干 干燥
thick thicker 厚 | thin thinner 薄
heavy heavier heaviest 重 最重 | light lighter lightest 轻 最轻
strong stronger strongest 强 最强 | weak weaker weakest 弱 最弱
rich richest 富 | poor poorest 穷
full 满 全部 | empty partial partially 空 部分
same identical equal 相同 一样 | different 不同 不一样
always 总是 一直 | sometimes rarely seldom occasionally 有时 偶尔
love~ like~ 喜欢 | hate~ dislike~ 讨厌
agree~ 同意 赞成 | disagree~ object_to oppose~ 反对
happy happier happiest 开心 高兴 | sad unhappy sadder 难过 伤心
optimistic optimist+ | pessimistic pessimist+
lucky | unlucky
polite | rude impolite
humble modest | proud arrogant
courageous brave | fearful cowardly timid
smart intelligent clever | stupid dumb
honest | dishonest
generous | stingy selfish
calm relaxed | nervous anxious
confident | insecure
visible | invisible hidden
known famous | unknown
quiet silent | loud noisy
clean | dirty
sharp | blunt
smooth | rough
soft | hard
fresh | stale rotten
raw | cooked
sweet | sour bitter
vegan vegetarian | meat
rural | urban
direct directly | indirect indirectly
manual manually | automatic automatically automated
patient | impatient
dependent | independent
active | passive inactive
conscious | unconscious
religious | secular irreligious atheist
progressive liberal | conservative
introvert+ introverted | extrovert+ extroverted
ancient | modern
natural 天然 | artificial synthetic 人工 合成
domestic 国内 | foreign international overseas 国际 海外 国外
arrested guilty 有罪 | acquitted innocent 无罪
debug~ 调试 | release~ 发布
encourage~ 鼓励 | discourage~ 劝阻
appear~ 出现 | disappear~ vanish~ 消失
succeed~ success successful 成功 | fail~ failure failed unsuccessful 失败
remember~ 记得 | forget forgets forgot forgotten 忘记 忘了
save~ 保存 | discard~ 丢弃 不保存
undo undid 撤销 撤回 | redo 重做
merge~ combine~ join_together 合并 | split splits splitting separate~ 拆分 分开
ingoing | outgoing
"""


# Directions of comparison, in time, size, rank and price.
_DIRECTIONS = """
within 之内 以内 | after 之后 以后
older_than 早于 | newer_than younger_than more_recent_than 晚于
slow slowly 慢 | fast quickly quick rapidly 快
sooner | later
before prior_to ahead_of 之前 以前 前 饭前 餐前 术前 婚前 税前 事前 产前 课前 睡前 | after following past 之后 以后 后 饭后 餐后 术后 婚后 税后 事后 产后 课后 睡后
previous preceding 上一 上个 | next subsequent 下一 下个
ago | from_now
early earlier earliest 早 提前 最早 | late later latest delay~ 晚 推迟 延后 最晚
oldest older elder 最老 较老 旧 | newest newer youngest younger 最新 最年轻 较新 新
most 最多 大多数 至多 更多 | least fewest 最少 至少 更少
多 更多 | 少 更少
at_least minimum min minimal minimise~ minimize~ no_less_than 至少 最少 最低 最小 最小化 下限 | at_most maximum max maximal maximise~ maximize~ no_more_than up_to 至多 最多 最高 最大 最大化 上限
highest tallest 最高 | lowest shortest 最低 最矮
high 高 偏高 过高 高血压 高血糖 高血脂 | low 低 偏低 过低 低血压 低血糖 低血脂
largest biggest greatest 最大 | smallest tiniest 最小
larger bigger 更大 较大 变大 | smaller 更小 较小 变小
longest longer 最长 更长 变长 延长 lengthen~ | shortest shorter 最短 更短 变短 缩短 shorten~
fastest faster quickest quicker 最快 更快 快 | slowest slower 最慢 更慢 慢
cheapest cheaper cheap inexpensive 最便宜 便宜 更便宜 | priciest dearest expensive costliest 最贵 贵 更贵
best 最好 最佳 | worst 最差 最坏 最糟
hottest warmest hot warm heating heat~ 最热 热 加热 升温 制热 | coldest coolest cold cooling chill~ 最冷 冷 冷却 降温 制冷
easiest easier easy 容易 简单 | hardest harder difficult 困难 复杂 难
nearest closest near 最近 近 | farthest furthest far 最远 远
above over upper top exceed~ more_than greater_than higher_than longer_than older_than 以上 超过 高于 大于 多于 上面 上部 | below under lower bottom less_than fewer_than lower_than shorter_than younger_than underneath beneath 以下 低于 小于 少于 不足 不到 下面 下部
"""

# Degrees: `less patient` is `more impatient`.
_DEGREES = """
more | less fewer
"""


def entries() -> Iterator[tuple[str, Mark]]:
    """Yield the table: concept = line number behind the table's letter, member = `+` or `-`."""
    tables = ((_OPPOSITE, _PAIRS), (_DIRECTION, _DIRECTIONS), (_DEGREE, _DEGREES))
    for letter, table in tables:
        for number, line in enumerate(filter(None, table.split("\n"))):
            plus, _, minus = line.partition("|")
            for member, side in (("+", plus), ("-", minus)):
                for word in side.split():
                    for form in forms(word):
                        yield form, Mark(FAMILY, f"{letter}{number}", member)


def join_particles(words: Sequence[str], base_of: dict[str, str]) -> list[tuple[str, int, int]]:
    """Give the phrasal verbs of a text as `verb particle`, also where words stand between, with their tokens."""
    joined = []
    for i, word in enumerate(words):
        base = base_of.get(word)
        if base is None:
            continue
        for later, particle in enumerate(words[i + 1 : i + 1 + _PHRASAL_REACH], i + 1):
            if particle in ("on", "off", "away", "out", "in", "down", "up"):
                joined.append((f"{base} {particle}", i, later + 1))
                break
    return joined


def phrasal_bases() -> dict[str, str]:
    """Give inflected form -> base of the verbs that take particles in the table."""
    verbs = split("turn~ switch~ put~ shut~ log~ sign~ check~ opt~ plug~ slow~ speed~ let~ lay~ pay~")
    return {form: verb[:-1] for verb in verbs for form in forms(verb)} | {
        "laid": "lay",
        "paid": "pay",
        "sped": "speed",
    }


def sides(found: Sequence[Found]) -> dict[str, str]:
    """Give concept -> the one side a text is on; concepts with both sides are left out."""
    seen: dict[str, str] = {}
    for item in found:
        name, member = item.mark.name, item.mark.member
        seen[name] = member if seen.get(name, member) == member else "both"
    return {name: side for name, side in seen.items() if side != "both"}


def flips(one: dict[str, str], other: dict[str, str]) -> tuple[bool, bool, bool]:
    """Say whether two texts stand on opposite sides of a concept, of a direction, and of a mere degree."""
    kinds = {name[0] for name, side in one.items() if name in other and other[name] != side}
    return _OPPOSITE in kinds, _DIRECTION in kinds, _DEGREE in kinds
